import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { BodyBudget } from '#src/http/body.ts';
import { dial } from '../http/listening.ts';
import { echoCall, mcpServer, modern, type McpServer, type Sent } from './server.ts';

const LIMIT = 4 * 1024 * 1024;
const STRANGERS_LIMIT = 64 * 1024;

const ofSize = (bytes: number, request: Sent): Sent => ({
  ...request,
  body: String(request.body).padEnd(bytes),
});
const STRANGERS: [name: string, authorization: string | undefined][] = [
  ['no credential', undefined],
  ['a token that is not ours', 'Bearer bad'],
  ['another scheme', 'Basic good'],
];

describe('a body', () => {
  for (const [name, authorization] of STRANGERS) {
    const request = echoCall({ headers: { authorization } });

    it(`has at most 64 KiB with ${name}`, async () => {
      await using server = await mcpServer({ maxBodyBytes: LIMIT });
      assert.equal((await server.send(ofSize(STRANGERS_LIMIT, request))).status, 401);
      const { status, json } = await server.send(ofSize(STRANGERS_LIMIT + 1, request));
      assert.deepEqual([status, json.error?.code], [413, -32600]);
    });

    it(`has the server's limit where that is smaller, with ${name}`, async () => {
      await using server = await mcpServer({ maxBodyBytes: 5_000 });
      assert.equal((await server.send(ofSize(5_001, request))).status, 413);
    });
  }

  it('may be large with a token of ours', async () => {
    await using server = await mcpServer({ maxBodyBytes: LIMIT });
    assert.equal((await server.send(ofSize(LIMIT, echoCall()))).status, 200);
    assert.equal((await server.send(ofSize(LIMIT + 1, echoCall()))).status, 413);
  });
});

/** Holds room in a budget: a request whose body never ends. */
async function sendHalf(server: McpServer, bytes: number, authorization: string): Promise<Socket> {
  const socket = await dial(server.port);
  socket.on('error', () => {});
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: ${authorization}\r\ncontent-length: ${bytes + 1}\r\n\r\n${' '.repeat(bytes)}`,
  );
  return socket;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

describe('the budget of bodies', () => {
  it('refuses for now what does not fit, and has room again when a sender leaves', async () => {
    const strangers = new BodyBudget(100_000);
    await using server = await mcpServer({ maxBodyBytes: LIMIT, budgets: { strangers } });
    const discover = (bytes: number): Sent =>
      ofSize(bytes, modern('server/discover', {}, { headers: { authorization: undefined } }));
    const socket = await sendHalf(server, 60_000, 'Bearer bad');
    await until(() => strangers.heldBytes > 40_000);
    const refused = await server.send(discover(60_000));
    assert.deepEqual(
      [refused.status, refused.headers['retry-after'], refused.json.error?.code],
      [503, '5', -32000],
    );
    // No fault of the server's: it is not told as one.
    assert.deepEqual(
      server.events.map((one) => one.type),
      ['request.denied'],
    );
    // Small requests and known callers are served meanwhile.
    assert.equal((await server.send(discover(4_096))).status, 200);
    assert.equal((await server.send(ofSize(1_000_000, echoCall()))).status, 200);
    socket.destroy();
    await until(() => strangers.heldBytes === 0);
    assert.equal((await server.send(discover(60_000))).status, 200);
    assert.equal(strangers.heldBytes, 0);
  });

  it('is kept for callers whatever strangers hold, and holds for them too', async () => {
    const callers = new BodyBudget(1_000_000);
    await using server = await mcpServer({ maxBodyBytes: LIMIT, budgets: { callers } });
    const socket = await sendHalf(server, 700_000, 'Bearer good');
    await until(() => callers.heldBytes > 600_000);
    assert.equal((await server.send(ofSize(700_000, echoCall()))).status, 503);
    assert.equal((await server.send(echoCall())).status, 200);
    socket.destroy();
    await until(() => callers.heldBytes === 0);
    assert.equal((await server.send(ofSize(700_000, echoCall()))).status, 200);
  });
});
