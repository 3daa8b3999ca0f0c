import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, Agent } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { createCallerReader } from '#src/http/caller.ts';
import { listen, type Listener, type ListenOptions } from '#src/http/server.ts';
import { ServerCertificate } from '#src/http/server-certificate.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { createTestClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/temp.ts';
import { dial, sendRaw } from './listening.ts';

/** The listening socket with a certificate: what server.test.ts shows of it without one holds here too. */

const OLD = makeCertificate(['127.0.0.1'], { name: 'old' });
const NEW = makeCertificate(['127.0.0.1'], { name: 'new' });
const CA = [OLD.certificate, NEW.certificate];
const HERE = { host: '127.0.0.1', port: 0 };

interface Served extends AsyncDisposable {
  listener: Listener;
  port: number;
  /** Writes the new certificate and has it taken into use. */
  renew(): Promise<void>;
}

async function serve(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  options: ListenOptions = {},
): Promise<Served> {
  const folder = await temporaryFolder();
  const files = await writeCertificate(folder.path, OLD);
  const clock = createTestClock();
  const certificate = await ServerCertificate.open({ files, clock, emit: () => {} });
  const listener = await listen(handler, HERE, { ...options, certificate });
  return {
    listener,
    port: listener.port,
    async renew() {
      await writeCertificate(folder.path, NEW);
      await certificate.look();
      await certificate.look();
    },
    async [Symbol.asyncDispose]() {
      await listener.drain(0);
      await folder[Symbol.asyncDispose]();
    },
  };
}

const answer = (_request: IncomingMessage, response: ServerResponse) => response.end('here');

/** A TLS connection that believes the test's certificates. */
async function dialTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: CA, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

function nameOf(socket: TLSSocket): string {
  const name = socket.getPeerCertificate().subject.CN;
  return String(name);
}

/** Sends one GET over a connection that stays open, and returns the body. */
async function ask(socket: TLSSocket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString().split('\r\n\r\n')[1] ?? '';
}

describe('listening with a certificate', () => {
  it('serves HTTP/1.1 over TLS 1.3, and over 1.2', async () => {
    await using served = await serve(answer);
    for (const version of ['TLSv1.3', 'TLSv1.2'] as const) {
      const ALPNProtocols = ['h2', 'http/1.1'];
      const options = { minVersion: version, maxVersion: version, ALPNProtocols };
      const socket = await dialTls(served.port, options);
      assert.equal(socket.getProtocol(), version);
      assert.equal(socket.alpnProtocol, 'http/1.1');
      assert.equal(await ask(socket), 'here');
      socket.destroy();
    }
  });

  it('refuses what is older, and other protocols', async () => {
    await using served = await serve(answer);
    const old: ConnectionOptions = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    };
    await assert.rejects(dialTls(served.port, old), { code: /ALERT_PROTOCOL_VERSION/ });
    await assert.rejects(dialTls(served.port, { ALPNProtocols: ['h2'] }), {
      code: /NO_APPLICATION_PROTOCOL/,
    });
  });

  it('is safe for callers from anywhere', async () => {
    const read = createCallerReader([]);
    await using served = await serve((message, response) => {
      const { encrypted } = message.socket as TLSSocket;
      const elsewhere = { remoteAddress: '203.0.113.5', encrypted } as TLSSocket;
      const { isSafe } = read({ headers: {}, socket: elsewhere } as unknown as IncomingMessage);
      response.end(String(isSafe));
    });
    assert.equal(await ask(await dialTls(served.port)), 'true');
  });

  it('closes what begins otherwise: plain HTTP, noise, nothing', async () => {
    await using served = await serve(answer);
    assert.equal(await sendRaw(served.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n').catch(reset), '');
    assert.doesNotMatch(await sendRaw(served.port, Buffer.alloc(64, 7)).catch(reset), /HTTP|here/);
    const silent = await dial(served.port);
    silent.end();
    await once(silent.resume(), 'close');
    assert.equal(await ask(await dialTls(served.port)), 'here');
  });

  it('is bounded in time, headers and connections, as without', async () => {
    await using served = await serve(answer);
    const { server } = served.listener;
    assert.equal(server.headersTimeout, 10_000);
    assert.equal(server.requestTimeout, 30_000);
    assert.equal(server.keepAliveTimeout, 65_000);
    assert.equal(server.maxConnections, 10_000);
    const socket = await dialTls(served.port);
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nx-long: ${'x'.repeat(33_000)}\r\n\r\n`);
    assert.match(await text(socket), /^HTTP\/1\.1 431 /);
  });
});

/** A connection may end with a reset where ours was not read to its end. */
function reset(error: NodeJS.ErrnoException): string {
  assert.equal(error.code, 'ECONNRESET');
  return '';
}

describe('connections over TLS', () => {
  it('of one address are bounded from their first byte, and one that ends makes room', async () => {
    await using served = await serve(answer, { peerOf: () => 'a', mostPerPeer: 2 });
    const { server } = served.listener;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const silent = await dial(served.port);
    const [raw] = await accepted;
    const second = await dialTls(served.port);
    const third = await dial(served.port);
    assert.equal(await text(third).catch(reset), '', 'one that has not spoken counts');
    const gone = once(raw, 'close');
    silent.destroy();
    await gone;
    const fourth = await dialTls(served.port);
    assert.equal(await ask(fourth), 'here');
    second.destroy();
    fourth.destroy();
  });

  it('are kept for a shorter time while more than half are in use', async () => {
    await using served = await serve(answer, { most: 2 });
    const { server } = served.listener;
    const first = await dialTls(served.port);
    assert.equal(server.keepAliveTimeout, 65_000);
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const second = await dialTls(served.port);
    const [raw] = await accepted;
    assert.equal(server.keepAliveTimeout, 10_000);
    const gone = once(raw, 'close');
    second.destroy();
    await gone;
    assert.equal(server.keepAliveTimeout, 65_000);
    first.destroy();
  });
});

describe('a new certificate', () => {
  it('is for new connections; those that are open go on', async () => {
    await using served = await serve(answer);
    const before = await dialTls(served.port);
    assert.equal(await ask(before), 'here');
    await served.renew();
    assert.equal(await ask(before), 'here');
    assert.equal(nameOf(before), 'old');
    const after = await dialTls(served.port);
    assert.equal(nameOf(after), 'new');
    assert.equal(await ask(after), 'here');
    assert.equal(await ask(before), 'here');
  });

  it('does not end an answer that is under way', async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    await using served = await serve((_request, response) => arrived.resolve(response));
    const agent = new Agent({ ca: CA });
    const sent = request({ host: '127.0.0.1', port: served.port, agent }).end();
    const response = await arrived.promise;
    response.write('before ');
    const [received] = (await once(sent, 'response')) as [IncomingMessage];
    await served.renew();
    response.end('after');
    assert.equal(await text(received), 'before after');
  });

  it('is shown also to who would resume a session of the old one, and is TLS 1.2 at least', async () => {
    await using served = await serve(answer);
    const only12 = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
    const first = await dialTls(served.port, only12);
    const session = first.getSession();
    assert.ok(session);
    const resumed = await dialTls(served.port, { ...only12, session });
    assert.equal(resumed.isSessionReused(), true, 'as long as nothing has changed');
    await served.renew();
    const next = await dialTls(served.port, { ...only12, session });
    assert.deepEqual([next.isSessionReused(), nameOf(next)], [false, 'new']);
    const old: ConnectionOptions = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    };
    await assert.rejects(dialTls(served.port, old), { code: /ALERT_PROTOCOL_VERSION/ });
  });
});

describe('a drain with a certificate', () => {
  it('lets a running request finish and takes no new connection', async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    await using served = await serve((_request, response) => arrived.resolve(response));
    const socket = await dialTls(served.port);
    const answered = ask(socket);
    const response = await arrived.promise;
    const drained = served.listener.drain(60_000);
    await assert.rejects(dial(served.port), { code: 'ECONNREFUSED' });
    response.end('finished');
    assert.match(await answered, /finished/);
    await drained;
  });

  it('does not wait longer than the grace for one that never gets through its handshake', async () => {
    await using served = await serve(answer);
    const { server } = served.listener;
    const ends: (string | undefined)[] = [];
    server.on('tlsClientError', (error: NodeJS.ErrnoException) => ends.push(error.code));
    const accepted = once(server, 'connection');
    const silent = await dial(served.port);
    await accepted;
    const closed = once(silent.resume(), 'close');
    await served.listener.drain(0);
    await closed;
    assert.ok(!ends.includes('ERR_TLS_HANDSHAKE_TIMEOUT'), 'it was ended, not waited for');
  });
});
