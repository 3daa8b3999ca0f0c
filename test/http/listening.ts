import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** A real HTTP server on a free port of this machine, for one test. */
export interface Listening extends AsyncDisposable {
  port: number;
  url: string;
}

export async function listening(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Listening> {
  const server = createServer(handler);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

/** A connection that says what the test writes, to the byte. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('connect', resolve).once('error', reject);
  await promise;
  return socket;
}

/** Sends one request as it is and returns all that comes back until the server closes. */
export async function sendRaw(port: number, request: string | Buffer): Promise<string> {
  const socket = await dial(port);
  socket.write(request);
  return text(socket);
}
