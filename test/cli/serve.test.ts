import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { signAccessToken } from '#src/credentials/access-token.ts';
import { temporaryFolder } from '../support/temp.ts';
import { cli, makeProject, ROLES, seed, startCli, type TestProject } from './support.ts';

interface Running extends AsyncDisposable {
  /** The first line of stdout. */
  line: string;
  /** The URL at its end. */
  mcp: string;
  /** Waits until stderr has said this. */
  saying(text: string): Promise<void>;
  /** Sends a signal. */
  signal(name: NodeJS.Signals): void;
  /** How it ended. */
  code: Promise<number | null>;
}

/** Starts a server on a free port; leaving its scope kills it if it still runs. */
async function serve(folder: string, ...more: string[]): Promise<Running> {
  const child = startCli(['serve', '--project', folder, '--port', '0', ...more]);
  const code = once(child, 'close').then(([ended]) => ended as number | null);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    line,
    mcp: line.split(' ').at(-1) ?? '',
    code,
    signal: (name) => void child.kill(name),
    async saying(text) {
      while (!said.includes(text)) await once(child.stderr, 'data');
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await code;
    },
  };
}

/** A token that the server's own keys signed, for ana's grant at cli_good. */
async function tokenFor(
  project: TestProject,
  mcp: string,
): Promise<{ token: string; grantId: string }> {
  const { anaGood } = await seed(project);
  const { keys } = await project.open();
  const now = Math.floor(Date.now() / 1_000);
  const token = await signAccessToken(keys, {
    iss: mcp,
    aud: mcp,
    sub: anaGood.userId,
    client_id: anaGood.clientId,
    gid: anaGood.id,
    iat: now,
    exp: now + 600,
    jti: 'test',
  });
  return { token, grantId: anaGood.id };
}

/** Sends one MCP request and returns the HTTP status of the answer. */
async function request(mcp: string, token: string, tool?: string): Promise<number> {
  const version = '2026-07-28';
  const method = tool === undefined ? 'tools/list' : 'tools/call';
  const call = tool === undefined ? {} : { name: tool, arguments: {} };
  const response = await fetch(mcp, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(tool === undefined ? {} : { 'mcp-name': tool }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...call,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  await response.arrayBuffer();
  return response.status;
}

const ENDLESS_TOOL = `import { tool } from 'castellan';
import { z } from 'zod';
export default tool({
  name: 'endless',
  description: 'Never ends',
  input: z.object({}),
  run() {
    console.log('the call runs');
    return new Promise(() => {});
  },
});
`;

/** Answers after it has thrown where nobody catches it. */
const LATE_TOOL = `import { tool } from 'castellan';
import { z } from 'zod';
export default tool({
  name: 'late',
  description: 'Throws too late',
  input: z.object({}),
  run() {
    return new Promise((resolve) => {
      setTimeout(() => {
        setTimeout(() => resolve('done'));
        throw new Error('nobody catches this');
      });
    });
  },
});
`;

describe('serve', () => {
  it('serves what init makes, says where, and ends with 0 on SIGTERM', async () => {
    await using folder = await temporaryFolder();
    assert.equal((await cli(['init', folder.path])).code, 0);
    await using server = await serve(folder.path);
    assert.match(
      server.line,
      /^Castellan serves castellan-test-\w+ at http:\/\/127\.0\.0\.1:\d+\/mcp$/,
    );
    const health = await fetch(new URL('/healthz', server.mcp));
    assert.equal(health.status, 200);
    server.signal('SIGTERM');
    assert.equal(await server.code, 0);
  });

  it('says it in JSON, and ends with 0 on Ctrl-C', async () => {
    await using project = await makeProject();
    const child = startCli(['serve', '--project', project.folder, '--port', '0', '--json']);
    child.stderr.resume();
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (printed.endsWith('}\n')) child.kill('SIGINT');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, 0);
    const { url, mcp } = JSON.parse(printed) as { url: string; mcp: string };
    assert.equal(mcp, `${url}/mcp`);
  });

  it('refuses a token at the very next request after revoke has returned', async () => {
    await using project = await makeProject();
    await using server = await serve(project.folder);
    const { token, grantId } = await tokenFor(project, server.mcp);
    assert.equal(await request(server.mcp, token), 200);
    await project.json(['grants', 'revoke', grantId]);
    assert.equal(await request(server.mcp, token), 401);
    server.signal('SIGTERM');
    assert.equal(await server.code, 0);
  });

  it('refuses tokens of keys that were dropped, without a restart', async () => {
    await using project = await makeProject();
    await using server = await serve(project.folder);
    const { token } = await tokenFor(project, server.mcp);
    assert.equal(await request(server.mcp, token), 200);
    await project.json(['keys', 'rotate']);
    assert.equal(await request(server.mcp, token), 200);
    await project.json(['keys', 'rotate', '--now']);
    assert.equal(await request(server.mcp, token), 401);
    server.signal('SIGTERM');
    assert.equal(await server.code, 0);
  });

  it('waits for a running call, until a second signal comes', async () => {
    const roles = {
      ...ROLES,
      permissions: { allowed: [{ applyTo: 'endless', type: 'tool', execute: ['reader'] }] },
    };
    await using project = await makeProject({
      files: { 'tools/endless.ts': ENDLESS_TOOL, 'roles.json': JSON.stringify(roles) },
    });
    await using server = await serve(project.folder);
    const { token } = await tokenFor(project, server.mcp);
    const cut = assert.rejects(request(server.mcp, token, 'endless'));
    await server.saying('the call runs');
    server.signal('SIGTERM');
    await server.saying('server.draining');
    server.signal('SIGTERM');
    assert.equal(await server.code, 1);
    await cut;
  });

  it('sees tools that come and a roles.json that changes, while it watches', async () => {
    await using project = await makeProject();
    await using server = await serve(project.folder, '--watch');
    await mkdir(join(project.folder, 'tools'));
    await writeFile(join(project.folder, 'tools/late.ts'), LATE_TOOL);
    await server.saying('"names":["late"]');
    const rule = { applyTo: 'lat', type: 'tool', execute: ['reader'] };
    const roles = JSON.stringify({ ...ROLES, permissions: { allowed: [rule] } });
    await writeFile(join(project.folder, 'roles.json'), roles);
    await server.saying('unknown tool \\"lat\\"');
    server.signal('SIGTERM');
    assert.equal(await server.code, 0);
  });

  it('logs what a tool throws too late, lets calls finish, and ends with 1', async () => {
    const roles = {
      ...ROLES,
      permissions: { allowed: [{ applyTo: 'late', type: 'tool', execute: ['reader'] }] },
    };
    await using project = await makeProject({
      files: { 'tools/late.ts': LATE_TOOL, 'roles.json': JSON.stringify(roles) },
    });
    await using server = await serve(project.folder);
    const { token } = await tokenFor(project, server.mcp);
    assert.equal(await request(server.mcp, token, 'late'), 200);
    assert.equal(await server.code, 1);
    await server.saying('"where":"uncaught exception","message":"nobody catches this"');
    await server.saying('tools/late.ts');
    await server.saying('server.draining');
    await server.saying('castellan: An exception that nobody caught: nobody catches this\nhint: ');
  });

  it('names the port that is taken', async () => {
    await using project = await makeProject();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await project.cli(['serve', '--port', String(port)]);
    other.close();
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, new RegExp(`castellan: .*127\\.0\\.0\\.1:${port}\nhint: .*--port`));
  });
});
