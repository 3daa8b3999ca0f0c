import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A proxy that adds a credential to every request that has none: the suite has no option for one. All
 * else passes as it is, also Host and Origin, which the suite forges on purpose.
 */
export async function startCredentialProxy(
  target: string,
  authorization: string,
): Promise<AsyncDisposable & { url: string }> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const onward = forward({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: { authorization, ...incoming.headers },
    });
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}
