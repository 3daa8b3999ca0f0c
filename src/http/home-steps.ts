import { isLoopbackHost } from './caller.ts';
import type { Sentence } from './sentence.ts';
import type { Texts } from '#src/http/texts/en.ts';

/** How to connect each client, with this server's own name and address in every command. */

export interface AppSteps {
  name: string;
  initial: string;
  where: string;
  /** Its steps are shown without asking. */
  open?: boolean;
  /** A link that opens the app and adds the server. */
  link?: string;
  /** Why the steps will not work with the server's present address. */
  warning?: { lead: string; text: Sentence } | undefined;
  steps: { text: Sentence; label?: string; code?: string }[];
  note?: string;
}

export interface HomeServer {
  name: string;
  mcpUrl: string;
}

const MAX_SLUG = 40;
const CLAUDE_CONNECTORS = 'https://claude.ai/customize/connectors';

/** The steps for every client that the home page names, in order. */
export function homeSteps(server: HomeServer, t: Texts): AppSteps[] {
  return [
    claude(server, t),
    chatgpt(server, t),
    vscode(server, t),
    cursor(server, t),
    claudeCode(server, t),
    inspector(t),
  ];
}

/** The name under which a client keeps the server: lower case, digits and dashes. */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_SLUG)
    .replace(/-$/, '');
  return slug === '' ? 'castellan' : slug;
}

/** A word for a POSIX shell that means exactly this text. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** What an app that connects from its maker's machines says of an address that those cannot reach. */
function reachWarning({ mcpUrl }: HomeServer, t: Texts): AppSteps['warning'] {
  const url = URL.parse(mcpUrl);
  const isReachable = url?.protocol === 'https:' && !isLoopbackHost(url.hostname);
  return isReachable ? undefined : t.apps.unreachable;
}

function claude(server: HomeServer, t: Texts): AppSteps {
  const { where, open, add, enter, connect, note } = t.apps.claude;
  return {
    name: 'Claude',
    initial: 'C',
    where,
    open: true,
    warning: reachWarning(server, t),
    steps: [
      { text: open(CLAUDE_CONNECTORS) },
      { text: add },
      { text: enter(server.name) },
      { text: connect },
    ],
    note,
  };
}

function chatgpt(server: HomeServer, t: Texts): AppSteps {
  const { where, open, add, enter, create, note } = t.apps.chatgpt;
  return {
    name: 'ChatGPT',
    initial: 'G',
    where,
    warning: reachWarning(server, t),
    steps: [{ text: open }, { text: add }, { text: enter(server.name) }, { text: create }],
    note,
  };
}

function vscode({ name, mcpUrl }: HomeServer, t: Texts): AppSteps {
  const slug = slugOf(name);
  const entry = { type: 'http', url: mcpUrl };
  const named = JSON.stringify({ name: slug, ...entry });
  const file = '.vscode/mcp.json';
  const { where, press, share, start } = t.apps.vscode;
  return {
    name: 'VS Code',
    initial: 'V',
    where,
    link: `vscode:mcp/install?${encodeURIComponent(named)}`,
    steps: [
      { text: press, label: t.apps.command, code: `code --add-mcp ${shellQuote(named)}` },
      {
        text: share(file),
        label: t.apps.contentsOf(file),
        code: pretty({ servers: { [slug]: entry } }),
      },
      { text: start },
    ],
  };
}

function cursor({ name, mcpUrl }: HomeServer, t: Texts): AppSteps {
  const slug = slugOf(name);
  const entry = { url: mcpUrl };
  const config = encodeURIComponent(Buffer.from(JSON.stringify(entry)).toString('base64'));
  const file = '~/.cursor/mcp.json';
  const { where, press, signIn } = t.apps.cursor;
  return {
    name: 'Cursor',
    initial: 'C',
    where,
    link: `cursor://anysphere.cursor-deeplink/mcp/install?name=${slug}&config=${config}`,
    steps: [
      {
        text: press(file),
        label: t.apps.contentsOf(file),
        code: pretty({ mcpServers: { [slug]: entry } }),
      },
      { text: signIn(slug) },
    ],
  };
}

/** The command that adds a server to Claude Code, in every folder of the person. */
export function claudeCodeCommand({ name, mcpUrl }: HomeServer): string {
  return `claude mcp add --transport http --scope user ${slugOf(name)} ${shellQuote(mcpUrl)}`;
}

function claudeCode(server: HomeServer, t: Texts): AppSteps {
  const { where, run, signIn } = t.apps.claudeCode;
  return {
    name: 'Claude Code',
    initial: 'C',
    where,
    steps: [
      { text: run, label: t.apps.command, code: claudeCodeCommand(server) },
      { text: signIn(slugOf(server.name)) },
    ],
  };
}

function inspector(t: Texts): AppSteps {
  const { where, run, connect } = t.apps.inspector;
  return {
    name: 'MCP Inspector',
    initial: 'M',
    where,
    steps: [
      { text: run, label: t.apps.command, code: 'npx @modelcontextprotocol/inspector' },
      { text: connect },
    ],
  };
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
