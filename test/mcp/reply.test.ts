import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { Reply } from '#src/mcp/reply.ts';
import { dial, listening } from '../http/listening.ts';

describe('an answer that has ended', () => {
  const ends: [name: string, end: (reply: Reply) => void][] = [
    [
      'with the answers to a batch',
      (reply) => reply.batch([{ jsonrpc: '2.0', id: 1, result: {} }]),
    ],
    ['without an answer', (reply) => reply.drop()],
    ['as a stream', (reply) => reply.close()],
    ['with a result', (reply) => reply.result({})],
  ];
  for (const [name, end] of ends) {
    it(`is never written to again, although it waits for another one to go out: ${name}`, async (t: TestContext) => {
      t.mock.timers.enable({ apis: ['setInterval'] });
      const faults: unknown[] = [];
      const ended = Promise.withResolvers<void>();
      let count = 0;
      await using server = await listening((_request, response) => {
        response.on('error', (error) => faults.push(error));
        count += 1;
        const accepted = { json: false, stream: true };
        const reply = new Reply(response, { common: {}, accepted });
        reply.openOnly();
        // The first one holds the connection; the second one has to wait for it.
        if (count === 1) return;
        end(reply);
        ended.resolve();
      });
      const socket = await dial(server.port);
      const request = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
      socket.write(request + request);
      await ended.promise;
      t.mock.timers.tick(60_000);
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(faults, []);
      socket.destroy();
      await once(socket, 'close');
    });
  }
});
