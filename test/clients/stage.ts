import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import assert from 'node:assert/strict';
import type { ConfigInput } from '#src/config.ts';
import { startTestApp, type Dialect, type TestApp } from '../support/app.ts';
import { runCastellan } from '../support/castellan.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { startDocumentHosts, type DocumentHosts } from '../support/documents.ts';

/** Where a client is played: a server, its clock, its administrator, and other people's web hosts. */
export interface Stage extends AsyncDisposable {
  app: TestApp;
  clock: TestClock;
  hosts: DocumentHosts;
  /** Runs `castellan grants revoke --client` beside the server; returns how many tokens died. */
  revoke(clientId: string): Promise<number>;
}

export async function openStage(dialect: Dialect, config: ConfigInput = {}): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const hosts = stack.use(await startDocumentHosts());
  const clock = createTestClock();
  const app = stack.use(await startTestApp({ dialect, clock, config, fetchPorts: hosts.ports }));
  const owned = stack.move();
  return {
    app,
    clock,
    hosts,
    revoke: (clientId) => revokeAtCommandLine(app, clientId),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function revokeAtCommandLine(app: TestApp, clientId: string): Promise<number> {
  const folder = dirname(app.keysFolder);
  await writeFile(join(folder, 'castellan.config.json'), '{}');
  const place = { folder, databaseUrl: app.state };
  const done = await runCastellan(place, ['grants', 'revoke', '--client', clientId, '--json']);
  assert.equal(done.code, 0, done.stderr);
  return (JSON.parse(done.stdout) as { tokens: number }).tokens;
}
