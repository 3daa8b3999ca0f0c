import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listenForSignals } from '#src/cli/signals.ts';

describe('a signal', () => {
  it('that npm passes on after the terminal sent it is the same key', async (test) => {
    const exit = test.mock.method(process, 'exit', () => undefined as never);
    const before = new Set(process.listeners('SIGINT'));
    const signal = listenForSignals();
    test.after(() => {
      for (const name of ['SIGINT', 'SIGTERM'] as const) {
        for (const one of process.listeners(name)) if (!before.has(one)) process.off(name, one);
      }
    });
    process.emit('SIGINT', 'SIGINT');
    process.emit('SIGINT', 'SIGINT');
    await signal;
    assert.equal(exit.mock.callCount(), 0);
    process.emit('SIGTERM', 'SIGTERM');
    assert.deepEqual(exit.mock.calls[0]?.arguments, [1]);
  });
});
