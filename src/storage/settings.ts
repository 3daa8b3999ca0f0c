import type { Kysely } from 'kysely';
import { isOnValue, MCP_SETTING, OFF } from './access-reader.ts';
import type { Work } from './open.ts';
import type { Database } from './schema.ts';

/** What is switched while servers run. The check of every request reads it along with the grant. */

/** Whether the MCP endpoint is switched on. By primary key. */
export async function isMcpOn(db: Kysely<Database>): Promise<boolean> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', MCP_SETTING)
    .executeTakeFirst();
  return isOnValue(row?.value);
}

/** Switches the MCP endpoint of every server on this store; off, its sessions close. */
export async function switchMcp(work: Work, actor: string, isOn: boolean): Promise<void> {
  const value = isOn ? 'on' : OFF;
  await work.db
    .insertInto('settings')
    .values({ name: MCP_SETTING, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
  if (!isOn) {
    await work.db.deleteFrom('protocol_sessions').execute();
    await work.db.deleteFrom('access_sessions').execute();
  }
  await work.audit({ actor, action: isOn ? 'mcp.enabled' : 'mcp.disabled' });
}
