import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { z } from 'zod';
import { tool } from '#src/tools/define.ts';
import { dial } from '../http/listening.ts';
import { DIALECTS, startTestApp, type Dialect, type TestApp } from '../support/app.ts';
import { obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import {
  malformedBytes,
  malformedHttp,
  malformedMessages,
  type Malformed,
  type Place,
  type Salvo,
} from './malformed-requests.ts';
import { modern, type Result } from './server.ts';
import { SessionClient } from './session-client.ts';

/*
 * Whatever is sent, the server stands: no fault of its own, an answer or the end of the connection, and
 * no tool without a credential. A failure names the seed and the smallest request that shows it.
 */

/**
 * How many good requests are answered before one that has no answer yet counts as forgotten. A busy
 * machine needs many; an answer ends the wait.
 */
const PATIENCE = 500;
/** No fault of the server, although it begins with a 5 (RFC 9110, section 15.6.2). */
const UNKNOWN_METHOD = 501;
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

/** One connection: what was sent over it and what has come back. */
class Exchange {
  readonly sent: Buffer;
  readonly socket: Socket;
  /** Answered, or closed. */
  isOver = false;
  #heard = '';

  private constructor(socket: Socket, sent: Buffer) {
    this.sent = sent;
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#heard += chunk.toString('latin1');
      this.isOver ||= this.statuses.some((status) => status >= 200);
    });
    // A server that resets the connection has closed it.
    socket.on('error', () => {});
    socket.once('close', () => (this.isOver = true));
  }

  static async begin(port: number, request: Malformed, place: Place): Promise<Exchange> {
    const exchange = new Exchange(await dial(port), request.bytes(place));
    const { socket, sent } = exchange;
    // The server may wait for more of what is no whole request; it is told that there is none.
    if (request.isWhole) socket.write(sent);
    else socket.end(sent);
    return exchange;
  }

  get statuses(): number[] {
    return [...this.#heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** For whoever reads why the test failed. */
  get shown(): string {
    return inspect(this.sent.toString('latin1'), { maxStringLength: 4_000 });
  }
}

class House implements AsyncDisposable {
  readonly app: TestApp;
  readonly place: Place;
  readonly ran: string[];
  /** How many tools have run, with a good credential. */
  ranInAll = 0;

  private constructor(made: Pick<House, 'app' | 'place' | 'ran'>) {
    this.app = made.app;
    this.place = made.place;
    this.ran = made.ran;
  }

  static async open(dialect: Dialect): Promise<House> {
    const ran: string[] = [];
    const app = await startTestApp({
      dialect,
      roles: { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] },
      tools: [
        tool({ name: 'good', input: z.object({}), run: () => 'well' }),
        tool({
          name: 'note',
          input: z.object({ text: z.string().optional() }),
          run: ({ text = '' }) => `${ran.push('note')} ${text}`,
        }),
        tool({
          name: 'steps',
          input: z.object({ text: z.string() }),
          async run(_args, { progress }) {
            ran.push('steps');
            for (const step of [1, 2, 3]) await progress(step, 3);
          },
        }),
        tool({
          name: 'wipe',
          input: z.object({}),
          run: async (_args, { confirm }) => `${ran.push('wipe')} ${await confirm('Wipe?')}`,
        }),
      ],
    });
    const client = await registerClient(app);
    const { accessToken } = await obtainTokens(createPerson(app), client, { name: 'rita' });
    const open = async (version: string): Promise<string> => {
      const session = new SessionClient(app, accessToken);
      await session.open({ version });
      return session.id;
    };
    const place: Place = {
      credential: 'good',
      sessions: await Promise.all(REVISIONS.map(open)),
      spare: await open('2025-11-25'),
      requestState: '',
      token: accessToken,
    };
    const house = new House({ app, place, ran });
    await house.ask();
    return house;
  }

  /** Sends requests all at once, and sees that the server bears it. */
  async withstands({ credential, requests }: Salvo): Promise<void> {
    const { app, ran } = this;
    ran.length = 0;
    const place = { ...this.place, credential };
    const begun = requests.map((request) => Exchange.begin(app.port, request, place));
    const exchanges = await Promise.all(begun);
    using _connections = {
      [Symbol.dispose]: () => exchanges.forEach(({ socket }) => socket.destroy()),
    };
    for (let left = PATIENCE; left > 0; left -= 1) {
      await this.#good();
      if (exchanges.every(({ isOver }) => isOver)) break;
    }
    for (const exchange of exchanges) {
      assert.ok(exchange.isOver, `answered or closed: ${exchange.shown}`);
      const faults = exchange.statuses.filter((one) => one >= 500 && one !== UNKNOWN_METHOD);
      assert.deepEqual(faults, [], `no fault of the server: ${exchange.shown}`);
    }
    this.ranInAll += ran.length;
    const sent = exchanges.map(({ shown }) => shown).join('\n');
    if (credential !== 'good') assert.deepEqual(ran, [], `no tool without a credential: ${sent}`);
    const told = app.events.filter(({ type }) => type === 'server.error');
    app.events.length = 0;
    assert.deepEqual(told, [], `nothing is told of a fault: ${sent}`);
  }

  /** A request on a connection of its own, which is answered as it should be. */
  async #good(): Promise<void> {
    const { result } = await this.#call('good');
    assert.deepEqual(result?.['content'], [{ type: 'text', text: 'well' }]);
  }

  /** Opens a question. */
  async ask(): Promise<void> {
    const able = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const { result } = await this.#call('wipe', able);
    assert.equal(typeof result?.['requestState'], 'string');
    this.place.requestState = String(result?.['requestState']);
  }

  async #call(name: string, meta: Result = {}): Promise<{ result?: Result }> {
    const { headers, body } = modern('tools/call', { name, arguments: {} }, { meta });
    const response = await fetch(`${this.app.url}/mcp`, {
      method: 'POST',
      headers: {
        ...(headers as Record<string, string>),
        authorization: `Bearer ${this.place.token}`,
        connection: 'close',
      },
      body: String(body),
    });
    assert.equal(response.status, 200);
    return (await response.json()) as { result?: Result };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
  }
}

const KINDS: [name: string, salvos: fc.Arbitrary<Salvo>, runs: Record<Dialect, number>][] = [
  ['bytes that are no request', malformedBytes, { sqlite: 40, postgres: 0 }],
  ['HTTP with wrong headers, targets and methods', malformedHttp, { sqlite: 100, postgres: 0 }],
  ['messages with something wrong in them', malformedMessages, { sqlite: 200, postgres: 100 }],
];

for (const dialect of DIALECTS) {
  describe(`the endpoint on ${dialect} withstands`, () => {
    let house: House;
    before(async () => (house = await House.open(dialect)));
    after(async () => {
      await house[Symbol.asyncDispose]();
      assert.ok(
        house.ranInAll > 0,
        'tools run with a credential, so that without one it would show',
      );
    });

    // What never gets to the store is sent to one of them only.
    for (const [name, salvos, runs] of KINDS.filter((kind) => kind[2][dialect] > 0)) {
      it(name, async () => {
        const property = fc.asyncProperty(salvos, (salvo) => house.withstands(salvo));
        await fc.assert(property, { numRuns: runs[dialect] });
      });
    }
  });
}
