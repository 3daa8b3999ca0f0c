import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { hashPassword } from '#src/credentials/password.ts';
import { AppError, messageOf } from '#src/errors.ts';
import { slugOf } from '#src/http/home-steps.ts';
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

/** Runs until a signal ends it; says on stderr why it could not start. */
export async function runDemo(): Promise<void> {
  try {
    await serveDemo();
  } catch (error) {
    const hint = error instanceof AppError && error.hint !== undefined ? `\n  ${error.hint}` : '';
    process.stderr.write(`castellan: ${messageOf(error)}${hint}\n`);
    process.exitCode = 1;
  }
}

async function serveDemo(): Promise<void> {
  const project = await loadProject(FOLDER, readOptions());
  ensureBookshop(fileURLToPath(new URL('bookshop.db', import.meta.url)));
  const users = await ensureUsers(project);
  const server = await startServer(project, { watch: true });
  process.stdout.write(welcome(`${server.url}/mcp`, server.url, users));
  const stop = (): void => void server.close();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  await server.closed;
}

function readOptions(): { host?: string; port?: number } {
  const { values } = parseArgs({ options: { host: { type: 'string' }, port: { type: 'string' } } });
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new AppError('usage', `--port ${values.port} is not a port`);
  }
  return {
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(port === undefined ? {} : { port }),
  };
}

/** The people of the demo, with new passwords, or none when there are users already. */
async function ensureUsers(project: Project): Promise<DemoUser[]> {
  await using open = await openProject(project, { actor: 'demo' });
  if ((await listUsers(open.store.db)).length > 0) return [];
  const users = PEOPLE.map((person) => ({ ...person, password: newPassword() }));
  for (const user of users) {
    const passwordHash = await hashPassword(user.password);
    await open.store.transaction((work) =>
      addUser(work, 'demo', { name: user.name, passwordHash, roles: [user.role] }),
    );
  }
  return users;
}

/** Some 79 bits, in groups that can be read aloud. */
function newPassword(): string {
  const letter = (): string => PASSWORD_LETTERS.charAt(randomInt(PASSWORD_LETTERS.length));
  const group = (): string => Array.from({ length: GROUP_LENGTH }, letter).join('');
  return Array.from({ length: PASSWORD_GROUPS }, group).join('-');
}

function welcome(mcp: string, home: string, users: readonly DemoUser[]): string {
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
    `  Claude Code      claude mcp add --transport http ${slugOf('Bookshop')} ${mcp}`,
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
