import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { callTool, TOKEN_PATH } from '../support/oauth-client.ts';
import type { RefreshJob, RefreshReport } from './refresh-processes.ts';

/*
 * One process of an app. It sends a refresh request but for its last byte and says that it is ready;
 * the last byte goes out when it is told to, so that the server has all of several processes' requests
 * within the same moment. Then it calls a tool with what it got.
 */

const agent = new Agent({ keepAlive: true });
let held: { job: RefreshJob; request: ClientRequest; lastByte: Buffer } | undefined;

process.on('message', (message: RefreshJob | 'go') => {
  if (message === 'go') void release();
  else hold(message);
});

function hold(job: RefreshJob): void {
  const body = Buffer.from(new URLSearchParams(job.form).toString());
  const sending = request(new URL(TOKEN_PATH, job.url), {
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': body.length,
    },
  });
  held = { job, request: sending, lastByte: body.subarray(-1) };
  sending.write(body.subarray(0, -1), () => process.send?.('ready'));
}

async function release(): Promise<void> {
  if (held === undefined) throw new Error('There is no request to release');
  const { job, request: sending, lastByte } = held;
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sending.once('response', resolve);
    sending.once('error', reject);
  });
  const sentAt = now();
  sending.end(lastByte);
  const response = await answered;
  const report = { status: response.statusCode ?? 0, sentAt, answeredAt: now() };
  if (job.losesAnswer) {
    // The server has done its part; nobody reads what it says.
    response.destroy();
    tell({ ...report, body: {}, toolStatus: 0 });
    return;
  }
  const body = JSON.parse(await text(response)) as Record<string, unknown>;
  const token = body['access_token'];
  const toolStatus =
    typeof token === 'string'
      ? (
          await callTool({ origin: job.toolUrl, url: job.toolUrl }, token, {
            name: 'books-get',
            arguments: { id: 1 },
          })
        ).status
      : 0;
  tell({ ...report, body, toolStatus });
}

function tell(report: RefreshReport): void {
  process.send?.(report);
}

/** Milliseconds that mean the same in all processes of this machine. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
