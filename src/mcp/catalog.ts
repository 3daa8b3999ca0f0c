import type { Access } from '#src/access/access.ts';
import type { Principal } from '#src/credentials/principal.ts';
import type { PublishedTool, ToolSet } from '#src/tools/tool-set.ts';

/** The tools that one caller may call, a page at a time, sorted by name. */

const PAGE_SIZE = 100;

export interface CatalogPage {
  tools: PublishedTool[];
  nextCursor?: string;
}

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * @param cursor what an earlier page returned; undefined or empty for the first page.
 * @returns undefined when the cursor is none of ours.
 */
export function catalogPage(
  { tools, access, principal }: { tools: ToolSet; access: Access; principal: Principal },
  cursor: string | undefined,
): CatalogPage | undefined {
  const after = cursor === undefined || cursor === '' ? '' : decodeCursor(cursor);
  if (after === undefined) return undefined;
  const visible = tools.sorted.filter(
    ({ tool }) => tool.name > after && access.mayExecute(tool.name, principal.effective),
  );
  const page = visible.slice(0, PAGE_SIZE);
  const result: CatalogPage = { tools: page.map((one) => one.published) };
  const last = page.at(-1);
  if (visible.length > PAGE_SIZE && last !== undefined)
    result.nextCursor = encodeCursor(last.tool.name);
  return result;
}

function encodeCursor(name: string): string {
  return Buffer.from(name).toString('base64url');
}

/** A cursor names the last tool of the page before, so that pages survive tools that come and go. */
function decodeCursor(cursor: string): string | undefined {
  if (cursor.length > 100) return undefined;
  const name = Buffer.from(cursor, 'base64url').toString('utf8');
  return TOOL_NAME.test(name) && encodeCursor(name) === cursor ? name : undefined;
}
