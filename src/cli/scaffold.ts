import { basename } from 'node:path';
import { claudeCodeCommand } from '#src/http/home-steps.ts';

/** The files of a new project, by their path in its folder. They work as they are. */

const NAME_MAX = 60;
/** Of a server whose configuration says nothing else. */
const MCP_URL = 'http://127.0.0.1:8420/mcp';

export function scaffold(folder: string): Readonly<Record<string, string>> {
  const name = projectName(folder);
  return {
    'castellan.config.ts': configFile(name),
    'roles.json': ROLES,
    'tools/hello.ts': HELLO,
    'README.md': readme(name),
    '.gitignore': GITIGNORE,
  };
}

/** What people will read on every page: the folder's name, as long as it can be printed. */
function projectName(folder: string): string {
  const printable = basename(folder)
    .replaceAll(/[^\p{L}\p{N} ._-]/gu, '')
    .trim();
  return printable.slice(0, NAME_MAX) || 'My project';
}

function configFile(name: string): string {
  return `import { defineConfig } from 'castellan';

export default defineConfig({
  server: {
    // People read it on the login and consent pages.
    name: '${name}',
    // What an assistant should know before it calls a tool.
    instructions: '',
  },
  // Where people reach the server, once that is not this machine alone:
  // publicUrl: 'https://mcp.example.com',
});
`;
}

const ROLES = `{
  "restrictedByDefault": true,
  "privileges": [
    {
      "privilege": "greeter",
      "includes": [],
      "title": "Say hello",
      "description": "Greets somebody by name. Sees nothing and changes nothing."
    }
  ],
  "roles": [{ "role": "member", "privileges": ["greeter"] }],
  "permissions": {
    "allowed": [{ "applyTo": "hello", "type": "tool", "execute": ["greeter"] }]
  }
}
`;

const HELLO = `import { tool } from 'castellan';
import { z } from 'zod';

export default tool({
  name: 'hello',
  description: 'Greets somebody by name, on behalf of the person who is logged in',
  input: z.object({ name: z.string().min(1).max(80).describe('Whom to greet') }),
  output: z.object({ greeting: z.string() }),
  annotations: { title: 'Say hello', readOnlyHint: true, idempotentHint: true },
  run({ name }, ctx) {
    return { greeting: \`Hello \${name}, \${ctx.user.name} sends regards.\` };
  },
});
`;

const GITIGNORE = `# Secrets and state: never in git.
keys/
.castellan/
.env
`;

function readme(name: string): string {
  return `# ${name}

An MCP server, run by Castellan. Its tools are in \`tools/\`, who may use them is in \`roles.json\`.

Run the commands in this folder. Without an installed \`castellan\`, run them in your clone of
Castellan as \`npx castellan ... --project PATH_OF_THIS_FOLDER\`.

## Start

1. Add yourself; you are asked for a password:

       castellan users add YOUR_NAME --role member

2. Start the server. With \`--watch\` it loads tools again when you change them:

       castellan serve --watch

3. Connect a client to the URL that it prints, \`${MCP_URL}\`. Claude Code, for example:

       ${claudeCodeCommand({ name, mcpUrl: MCP_URL })}

   The client opens a page to log in and to choose what it may do.

## Change it

- \`tools/hello.ts\` is a tool: one a file, the default export. Copy it to make another,
  give that a name of its own, and permit it in \`roles.json\`: until then nobody can call it.
  \`docs/tools.md\` of Castellan says all that a tool can do.
- \`roles.json\` says which privileges there are, which roles hold them and which tools they permit.
  \`castellan roles check\` names what does not fit; \`castellan roles show YOUR_NAME\` shows what it
  comes to.
- \`castellan.config.ts\` is the configuration. A misspelt field is named, not ignored.

## Keep control

    castellan grants list
    castellan grants revoke --user YOUR_NAME

A revoked grant is refused at the very next request.

\`keys/\` and \`.castellan/\` hold secrets and state. They are made at the first start; back them up,
apart from each other, and keep them out of git.
`;
}
