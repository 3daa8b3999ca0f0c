import type { Command } from 'commander';
import { addCommand, commonOptions } from './command.ts';
import { addListenOptions, type ListenOptions } from './listen-options.ts';
import { printResult } from './output.ts';
import { listenForSignals } from './signals.ts';

/** `castellan serve`: the server, until a signal ends it. */

interface ServeOptions extends ListenOptions {
  watch: boolean;
}

export function addServe(program: Command): void {
  const command = addCommand(program, {
    usage: 'serve',
    about: 'Run the server. SIGTERM or Ctrl-C lets running requests finish; a second one does not.',
    examples: ['castellan serve', 'castellan serve --project my-project --port 9000 --watch'],
  });
  addListenOptions(command)
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
