import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { addListenOptions, type ListenOptions } from '#src/cli/listen-options.ts';
import { newProgram, runProgram } from '#src/cli/run.ts';
import { listenForSignals } from '#src/cli/signals.ts';
import { hashPassword } from '#src/credentials/password.ts';
import { claudeCodeCommand } from '#src/http/home-steps.ts';
import { loadProject, type Project } from '#src/project.ts';
import { openProject } from '#src/project-secrets.ts';
import { startServer } from '#src/serve.ts';
import { addUser, listUsers } from '#src/storage/users.ts';
import { ensureBookshop } from './database.ts';

/*
 * The demo that `npm start` runs. Makes the sample database, the keys and the demo's people when they are
 * missing, says what a person needs to connect, and serves until a signal ends it.
 */

interface DemoUser {
  name: string;
  role: string;
  password: string;
  passwordHash: string;
}

const PEOPLE = [
  { name: 'vera.visitor', role: 'visitor' },
  { name: 'carl.clerk', role: 'clerk' },
  { name: 'mona.manager', role: 'manager' },
];
const PASSWORD_LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const PASSWORD_GROUPS = 4;
const GROUP_LENGTH = 4;
const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** Runs until a signal ends it; says on stderr why it could not start. @returns the exit code. */
export async function runDemo(args: readonly string[]): Promise<number> {
  const program = newProgram('npm start --')
    .description('Serve the bookshop, the demo project of Castellan.')
    .allowExcessArguments(false)
    .showHelpAfterError('hint: npm start -- --help shows how it is used.');
  return runProgram(addListenOptions(program).action(serveDemo), args);
}

async function serveDemo(options: ListenOptions): Promise<void> {
  const signal = listenForSignals();
  const project = await loadProject(FOLDER, options);
  ensureBookshop(fileURLToPath(new URL('bookshop.db', import.meta.url)));
  const server = await startServer(project, { watch: true });
  try {
    // Only now: passwords are shown once, and a server that cannot start has nowhere to show them.
    const users = await ensureUsers(project);
    process.stdout.write(welcome(project.name, server.url, users));
    await Promise.race([signal, server.closed]);
  } finally {
    await server.close();
  }
}

/** The people of the demo, with new passwords, or none when there are users already. */
async function ensureUsers(project: Project): Promise<DemoUser[]> {
  await using open = await openProject(project, { actor: 'demo' });
  if ((await listUsers(open.store.db)).length > 0) return [];
  const users = await Promise.all(PEOPLE.map(withPassword));
  // All or none: somebody who was added by half a start would have a password that nobody saw.
  await open.store.transaction(async (work) => {
    for (const { name, passwordHash, role } of users) {
      await addUser(work, 'demo', { name, passwordHash, roles: [role] });
    }
  });
  return users;
}

async function withPassword(person: { name: string; role: string }): Promise<DemoUser> {
  const password = newPassword();
  return { ...person, password, passwordHash: await hashPassword(password) };
}

/** Some 79 bits, in groups that can be read aloud. */
function newPassword(): string {
  const letter = (): string => PASSWORD_LETTERS.charAt(randomInt(PASSWORD_LETTERS.length));
  const group = (): string => Array.from({ length: GROUP_LENGTH }, letter).join('');
  return Array.from({ length: PASSWORD_GROUPS }, group).join('-');
}

function welcome(name: string, home: string, users: readonly DemoUser[]): string {
  const mcp = `${home}/mcp`;
  const width = Math.max(...PEOPLE.map((person) => person.name.length));
  const people =
    users.length > 0
      ? users.map((user) => `    ${user.name.padEnd(width)}  ${user.password}  (${user.role})`)
      : PEOPLE.map((person) => `    ${person.name.padEnd(width)}  (${person.role})`);
  return [
    '',
    '  The Bookshop is open.',
    '',
    `  MCP URL          ${mcp}`,
    `  How to connect   ${home}`,
    '',
    users.length > 0
      ? '  People, with passwords that are shown this once:'
      : '  People (passwords were shown at the first start):',
    ...people,
    ...(users.length > 0
      ? []
      : ['    A new one: npx castellan users passwd NAME --project examples/bookshop']),
    '',
    `  Claude Code      ${claudeCodeCommand({ name, mcpUrl: mcp })}`,
    '  MCP Inspector    npx @modelcontextprotocol/inspector',
    '',
    '  See and take back access, in another terminal:',
    '    npx castellan grants list --project examples/bookshop',
    '    npx castellan grants revoke --user carl.clerk --project examples/bookshop',
    '',
    '  Ctrl-C stops the server.',
    '',
  ]
    .map((line) => `${line}\n`)
    .join('');
}
