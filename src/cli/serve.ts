import { InvalidArgumentError, type Command } from 'commander';
import { addCommand, commonOptions } from './command.ts';
import { printResult } from './output.ts';

/** `castellan serve`: the server, until a signal ends it. */

interface ServeOptions {
  host?: string;
  port?: number;
  watch: boolean;
}

export function addServe(program: Command): void {
  addCommand(program, {
    usage: 'serve',
    about: 'Run the server. SIGTERM or Ctrl-C lets running requests finish; a second one does not.',
    examples: ['castellan serve', 'castellan serve --project my-project --port 9000 --watch'],
  })
    .option('--host <host>', 'address to listen on, instead of listen.host', parseHost)
    .option(
      '--port <port>',
      'port to listen on, instead of listen.port; 0 takes a free one',
      parsePort,
    )
    .option('--watch', 'load tools again when their files change', false)
    .action(serve);
}

async function serve(options: ServeOptions, command: Command): Promise<void> {
  const common = commonOptions(command);
  const signal = listenForSignals();
  const { loadProject } = await import('#src/project.ts');
  const project = await loadProject(common.project, { host: options.host, port: options.port });
  const { startServer } = await import('#src/serve.ts');
  const server = await startServer(project, { watch: options.watch });
  const mcp = `${server.url}/mcp`;
  printResult(common, { url: server.url, mcp }, () => `Castellan serves ${project.name} at ${mcp}`);
  await Promise.race([signal, server.closed]);
  await server.close();
}

/** Under npm, one Ctrl-C arrives twice: from the terminal, and passed on by npm. */
const SAME_KEY_MS = 250;

/** Settles at the first signal; a second one ends the process. */
async function listenForSignals(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  const listener = (signal: NodeJS.Signals): void => {
    const at = performance.now();
    if (first === undefined) {
      first = { signal, at };
      resolve();
      return;
    }
    const isSameKey =
      signal === 'SIGINT' && first.signal === 'SIGINT' && at - first.at < SAME_KEY_MS;
    if (!isSameKey) process.exit(1);
  };
  process.on('SIGTERM', listener);
  process.on('SIGINT', listener);
  return promise;
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
