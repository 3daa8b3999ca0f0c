import { InvalidArgumentError, type Command } from 'commander';

/** `--host` and `--port`, for whatever serves. */

export interface ListenOptions {
  host?: string;
  port?: number;
}

export function addListenOptions(command: Command): Command {
  return command
    .option('--host <host>', 'address to listen on, instead of listen.host', parseHost)
    .option(
      '--port <port>',
      'port to listen on, instead of listen.port; 0 takes a free one',
      parsePort,
    );
}

function parseHost(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('An address is not empty.');
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('A port is a number from 0 to 65535.');
}
