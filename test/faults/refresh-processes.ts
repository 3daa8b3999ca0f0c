import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Several operating-system processes of one app, which refresh at the same moment when told to. */

const CLIENT = fileURLToPath(new URL('refresh-client.ts', import.meta.url));

export interface RefreshJob {
  /** The server that is asked, and the one whose tool is called. */
  url: string;
  toolUrl: string;
  form: Record<string, string>;
  /** Whether the connection breaks once the server has answered. */
  losesAnswer?: boolean;
}

export interface RefreshReport {
  status: number;
  body: Record<string, unknown>;
  /** 0 when there was no access token to call a tool with. */
  toolStatus: number;
  /** When the last byte went out and when the answer began, in milliseconds of this machine's clock. */
  sentAt: number;
  answeredAt: number;
}

export interface RefreshProcesses extends AsyncDisposable {
  /** Gives each of the first processes a job, lets them all go at once, and hears what came of it. */
  refresh(jobs: readonly RefreshJob[]): Promise<RefreshReport[]>;
}

/** Starts processes; leaving their scope ends them. */
export async function startRefreshProcesses(count: number): Promise<RefreshProcesses> {
  const children = Array.from({ length: count }, () => fork(CLIENT));
  await Promise.all(children.map((child) => once(child, 'spawn')));
  return {
    async refresh(jobs) {
      const busy = children.slice(0, jobs.length);
      assert.equal(busy.length, jobs.length, 'a process for each job');
      const ready = Promise.all(busy.map(hear));
      for (const [index, child] of busy.entries()) child.send(jobs[index] ?? '');
      await ready;
      const reports = Promise.all(busy.map(hear));
      for (const child of busy) child.send('go');
      return (await reports) as RefreshReport[];
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill();
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        }),
      );
    },
  };
}

/** The next message of a process; an error when it ends before it says anything. */
async function hear(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  const message = once(child, 'message', { signal });
  const exit = once(child, 'exit', { signal });
  message.catch(() => {});
  exit.catch(() => {});
  const first = await Promise.race([message, exit.then(() => undefined)]);
  ended.abort();
  if (first === undefined) throw new Error(`A process of the app ended with ${child.exitCode}`);
  return first[0] as unknown;
}

/** Whether all requests were under way before the first was answered. */
export function wereTogether(reports: readonly RefreshReport[]): boolean {
  const lastSent = Math.max(...reports.map((report) => report.sentAt));
  return lastSent < Math.min(...reports.map((report) => report.answeredAt));
}
