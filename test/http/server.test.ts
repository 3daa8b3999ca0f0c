import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { listen } from '#src/http/server.ts';
import { dial } from './listening.ts';

const HERE = { host: '127.0.0.1', port: 0 };

/** A handler that tells when a request is there, and answers when it is told to. */
function waiting() {
  const arrived = Promise.withResolvers<ServerResponse>();
  return {
    arrived: arrived.promise,
    handler: (_request: IncomingMessage, response: ServerResponse) => arrived.resolve(response),
  };
}

describe('listening', () => {
  it('takes a free port and says which', async () => {
    const listener = await listen((_request, response) => response.end('here'), HERE);
    assert.ok(listener.port > 0);
    assert.equal(listener.host, '127.0.0.1');
    const response = await fetch(`http://127.0.0.1:${listener.port}/`);
    assert.equal(await response.text(), 'here');
    await listener.drain(1_000);
  });

  it('says that the port is in use, and how to go on', async () => {
    const first = await listen(() => {}, HERE);
    await assert.rejects(
      listen(() => {}, { host: '127.0.0.1', port: first.port }),
      {
        code: 'port_in_use',
        message: `Another program listens on 127.0.0.1:${first.port}`,
        hint: /--port/,
      },
    );
    await first.drain(0);
  });

  it('says that the address is not one of this machine', async () => {
    await assert.rejects(
      listen(() => {}, { host: '192.0.2.1', port: 0 }),
      { code: 'config_invalid' },
    );
  });

  it('is bounded in time, headers and connections', async () => {
    const listener = await listen(() => {}, HERE);
    assert.equal(listener.server.headersTimeout, 10_000);
    assert.equal(listener.server.requestTimeout, 30_000);
    assert.equal(listener.server.maxConnections, 10_000);
    await listener.drain(0);
  });

  it('goes on when connections cannot be accepted', async () => {
    const listener = await listen((_request, response) => response.end('here'), HERE);
    listener.server.emit('error', new Error('accept EMFILE'));
    listener.server.emit('error', new Error('accept EMFILE'));
    assert.equal((await fetch(`http://127.0.0.1:${listener.port}/`)).status, 200);
    await listener.drain(1_000);
  });

  it('refuses headers beyond 32 KiB', async () => {
    const listener = await listen((_request, response) => response.end(), HERE);
    const headers = { 'x-long': 'x'.repeat(33_000) };
    assert.equal((await fetch(`http://127.0.0.1:${listener.port}/`, { headers })).status, 431);
    await listener.drain(1_000);
  });
});

describe('connections', () => {
  const answer = (_request: IncomingMessage, response: ServerResponse) => response.end('here');

  it('of one address are bounded, and those of others are not affected', async () => {
    let peer: string | undefined = 'a';
    const listener = await listen(answer, HERE, { peerOf: () => peer, mostPerPeer: 2 });
    const first = await dial(listener.port);
    const second = await dial(listener.port);
    const third = await dial(listener.port);
    assert.equal(await text(third), '');
    for (const other of ['b', undefined, undefined, undefined]) {
      peer = other;
      (await dial(listener.port)).unref();
    }
    assert.equal((await fetch(`http://127.0.0.1:${listener.port}/`)).status, 200);
    // One that ends makes room for another.
    peer = 'a';
    const [closed] = [once(first, 'close')];
    first.end();
    await closed;
    assert.equal((await fetch(`http://127.0.0.1:${listener.port}/`)).status, 200);
    second.destroy();
    await listener.drain(0);
  });

  it('are kept for a shorter time while more than half are in use', async () => {
    const listener = await listen(answer, HERE, { most: 4 });
    const { server } = listener;
    const sockets: Socket[] = [];
    const accepted = async (): Promise<void> => {
      const accepting = once(server, 'connection');
      sockets.push(await dial(listener.port));
      await accepting;
    };
    await accepted();
    await accepted();
    assert.equal(server.keepAliveTimeout, 65_000);
    await accepted();
    assert.equal(server.keepAliveTimeout, 10_000);
    for (const socket of sockets) socket.destroy();
    while (server.keepAliveTimeout !== 65_000) await new Promise((go) => setImmediate(go));
    await listener.drain(0);
  });
});

describe('a drain', () => {
  it('lets a running request finish and takes no new connection', async () => {
    const { handler, arrived } = waiting();
    const listener = await listen(handler, HERE);
    const answer = fetch(`http://127.0.0.1:${listener.port}/`);
    const response = await arrived;
    let isDrained = false;
    const drained = listener.drain(60_000).then(() => (isDrained = true));
    await assert.rejects(dial(listener.port), { code: 'ECONNREFUSED' });
    assert.equal(isDrained, false);
    response.end('finished');
    assert.equal(await (await answer).text(), 'finished');
    await drained;
  });

  it('lets an open stream end in its own time', async () => {
    const { handler, arrived } = waiting();
    const listener = await listen(handler, HERE);
    const answer = fetch(`http://127.0.0.1:${listener.port}/`);
    const response = await arrived;
    response.write('first ');
    const drained = listener.drain(60_000);
    response.write('then ');
    response.end('last');
    assert.equal(await (await answer).text(), 'first then last');
    await drained;
  });

  it('closes connections that wait for another request', async () => {
    const listener = await listen((_request, response) => response.end('here'), HERE);
    const agent = new Agent({ keepAlive: true });
    const sent = request({ port: listener.port, host: '127.0.0.1', agent }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    assert.equal(await text(response), 'here');
    await listener.drain(60_000);
    agent.destroy();
  });

  it('ends requests that take longer than the grace', async () => {
    const { handler, arrived } = waiting();
    const listener = await listen(handler, HERE);
    const answer = assert.rejects(fetch(`http://127.0.0.1:${listener.port}/`));
    await arrived;
    await listener.drain(0);
    await answer;
  });

  it('twice is once', async () => {
    const listener = await listen(() => {}, HERE);
    await listener.drain(1_000);
    await listener.drain(1_000);
  });
});
