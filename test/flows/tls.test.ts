import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { connect, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import type { Event } from '#src/events.ts';
import { loadProject } from '#src/project.ts';
import { startServer, type RunningServer } from '#src/serve.ts';
import { makeProject, PASSWORD, ROLES, type TestProject } from '../cli/support.ts';
import { makeCertificate, writeCertificate, type Certificate } from '../support/certificate.ts';
import { leftFor } from '../support/oauth-client.ts';
import { AppMemory, connectClient, wantsLogin } from '../support/official-client.ts';
import { createPerson, formWith } from '../support/person.ts';

/** A project with `listen.tls`, served: the main job over TLS, and a certificate that is renewed. */

const OLD = makeCertificate(['127.0.0.1'], { name: 'old' });
const NEW = makeCertificate(['127.0.0.1'], { name: 'new' });

const HELLO = `import { tool } from 'castellan';
import { z } from 'zod';
export default tool({
  name: 'hello',
  description: 'Says hello.',
  input: z.object({}),
  output: z.object({ hello: z.string() }),
  run: (_args, ctx) => ({ hello: ctx.user.name }),
});
`;

const HELLO_ROLES = {
  ...ROLES,
  permissions: { allowed: [{ applyTo: 'hello', type: 'tool', execute: ['reader'] }] },
};

interface Served extends AsyncDisposable {
  project: TestProject;
  server: RunningServer;
  port: number;
  events: Event[];
  /** Waits until an event of this kind is told that was not there before. */
  next(type: Event['type']): Promise<Event>;
}

async function serve(certificate: Certificate): Promise<Served> {
  await using cleanup = new AsyncDisposableStack();
  const project = cleanup.use(
    await makeProject({
      config: { listen: { port: 0, tls: { certFile: 'cert.pem', keyFile: 'key.pem' } } },
      files: { 'tools/hello.ts': HELLO, 'roles.json': JSON.stringify(HELLO_ROLES) },
    }),
  );
  await writeCertificate(project.folder, certificate);
  const events: Event[] = [];
  const told = new EventEmitter();
  const server = await startServer(await loadProject(project.folder), {
    certificateEveryMs: 5,
    emit(event) {
      events.push(event);
      told.emit(event.type, event);
    },
  });
  cleanup.defer(() => server.close());
  const owned = cleanup.move();
  return {
    project,
    server,
    port: Number(new URL(server.url).port),
    events,
    next: async (type) => ((await once(told, type)) as [Event])[0],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function dial(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'secureConnect');
  return socket;
}

/** The status line of one request over a connection that stays open. */
async function healthOver(socket: TLSSocket): Promise<string> {
  socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${socket.remotePort}\r\n\r\n`);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString().slice(0, 15);
}

describe('a project with listen.tls', () => {
  before(() => setDefaultCACertificates([OLD.certificate, NEW.certificate]));

  it('says https everywhere, and lets a person log in and an app call a tool', async () => {
    await using served = await serve(OLD);
    const { project, server } = served;
    assert.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.ok(
      served.events.some((one) => one.type === 'server.listening' && one.url === server.url),
    );
    await project.cli(['users', 'add', 'ana', '--role', 'clerk', '--password-stdin'], {
      input: PASSWORD,
    });

    const person = createPerson(server.url);
    const home = await person.follow('/');
    assert.ok(home.html.includes(`${server.url}/mcp`), 'the home page says where');
    const metadata = (await (
      await fetch(`${server.url}/.well-known/oauth-authorization-server`)
    ).json()) as Record<string, unknown>;
    assert.equal(metadata['issuer'], `${server.url}/mcp`);
    const urls = Object.values(metadata).filter((one) => /^https?:/.test(String(one)));
    assert.ok(urls.length >= 5);
    for (const url of urls) assert.ok(String(url).startsWith(server.url), String(url));

    const memory = new AppMemory('http://127.0.0.1:7000/callback');
    await using app = await connectClient(`${server.url}/mcp`, memory, 'auto');
    assert.equal(await wantsLogin(app.client.listTools()), true);
    const challenge = app.answers.find(({ status }) => status === 401)?.challenge ?? '';
    assert.ok(challenge.includes(`resource_metadata="${server.url}/.well-known/`), challenge);
    assert.ok(memory.authorizationUrl);
    const login = await person.follow(memory.authorizationUrl);
    assert.ok(formWith(login, 'username'));
    const consent = await person.logIn(login, { name: 'ana', password: PASSWORD });
    const cookies = person.cookies.all();
    assert.ok(cookies.length > 0);
    for (const cookie of cookies) {
      assert.deepEqual([cookie.isSecure, cookie.isHttpOnly], [true, true], cookie.name);
    }
    const returned = leftFor(await person.allow(consent));
    assert.equal(returned.searchParams.get('iss'), `${server.url}/mcp`);
    await app.transport.finishAuth(returned.searchParams);
    const result = await app.client.callTool({ name: 'hello', arguments: {} });
    assert.deepEqual(result.structuredContent, { hello: 'ana' });
  });

  it('serves a new certificate soon after its files have changed, beside open connections', async () => {
    await using served = await serve(OLD);
    const before = await dial(served.port);
    const loaded = served.next('certificate.loaded');
    await writeCertificate(served.project.folder, NEW);
    const event = await loaded;
    const { fingerprint256 } = new X509Certificate(NEW.certificate);
    assert.deepEqual(event, {
      type: 'certificate.loaded',
      subject: 'CN=new',
      fingerprint256,
      notAfter: '2040-01-01T00:00:00.000Z',
    });
    const after = await dial(served.port);
    assert.equal(after.getPeerCertificate().fingerprint256, fingerprint256);
    assert.equal(before.getPeerCertificate().subject.CN, 'old');
    for (const socket of [before, after]) {
      assert.equal(await healthOver(socket), 'HTTP/1.1 200 OK');
      socket.destroy();
    }
    assert.ok(!JSON.stringify(served.events).includes('PRIVATE KEY'));
  });

  it('keeps its certificate when the next key does not belong to it', async () => {
    await using served = await serve(OLD);
    const rejected = served.next('certificate.rejected');
    await writeFile(join(served.project.folder, 'key.pem'), NEW.key);
    const event = await rejected;
    assert.ok(event.type === 'certificate.rejected');
    assert.match(event.reason, /^listen\.tls\.keyFile: \/.*key\.pem does not belong/);
    const socket = await dial(served.port);
    assert.equal(socket.getPeerCertificate().subject.CN, 'old');
    assert.equal(await healthOver(socket), 'HTTP/1.1 200 OK');
    socket.destroy();
  });

  it('starts with a certificate that has expired, and says so loudly', async () => {
    const over = makeCertificate(['127.0.0.1'], { notAfter: Date.now() - 60_000 });
    await using served = await serve(over);
    const warning = served.events.find((event) => event.type === 'certificate.warning');
    assert.deepEqual([warning?.reason, warning?.isValid], ['it has expired', false]);
    const socket = connect({ host: '127.0.0.1', port: served.port, ca: over.certificate });
    await assert.rejects(once(socket, 'secureConnect'), { code: 'CERT_HAS_EXPIRED' });
  });
});
