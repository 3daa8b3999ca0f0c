import type { Kysely } from 'kysely';
import type { Dialect } from '#src/storage/dialect.ts';

/** Access sessions; downloads; what is switched at run time; sessions of the older MCP revisions, and what their processes tell one another. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const time = dialect === 'postgres' ? 'bigint' : 'integer';
  await db.schema
    .createTable('access_sessions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('key', 'text', (c) => c.notNull().unique())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('client_id', 'text', (c) => c.notNull())
    .addColumn('client_name', 'text', (c) => c.notNull())
    .addColumn('grant_id', 'text', (c) => c.notNull())
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('storage', 'text', (c) => c.notNull())
    .addColumn('created_at', time, (c) => c.notNull())
    .addColumn('opened_at', time)
    .addColumn('last_used_at', time, (c) => c.notNull())
    .addColumn('expires_at', time, (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('access_sessions_expiry')
    .on('access_sessions')
    .column('expires_at')
    .execute();
  await db.schema
    .createIndex('access_sessions_user')
    .on('access_sessions')
    .column('user_id')
    .execute();
  await db.schema
    .createIndex('access_sessions_grant')
    .on('access_sessions')
    .column('grant_id')
    .execute();
  await db.schema
    .createTable('binaries')
    .addColumn('digest', 'text', (c) => c.primaryKey())
    .addColumn('grant_id', 'text', (c) => c.notNull().references('grants.id').onDelete('cascade'))
    .addColumn('mime_type', 'text', (c) => c.notNull())
    .addColumn('sealed', dialect === 'postgres' ? 'bytea' : 'blob', (c) => c.notNull())
    .addColumn('expires_at', time, (c) => c.notNull())
    .execute();
  await db.schema.createIndex('binaries_grant').on('binaries').column('grant_id').execute();
  await db.schema.createIndex('binaries_expiry').on('binaries').column('expires_at').execute();
  await db.schema
    .createTable('settings')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('protocol_sessions')
    .addColumn('digest', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('client_id', 'text', (c) => c.notNull())
    .addColumn('grant_id', 'text', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('capabilities', 'text', (c) => c.notNull())
    .addColumn('created_at', time, (c) => c.notNull())
    .addColumn('expires_at', time, (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('protocol_sessions_user')
    .on('protocol_sessions')
    .columns(['user_id', 'client_id', 'created_at'])
    .execute();
  await db.schema
    .createIndex('protocol_sessions_grant')
    .on('protocol_sessions')
    .column('grant_id')
    .execute();
  await db.schema
    .createIndex('protocol_sessions_expiry')
    .on('protocol_sessions')
    .column('expires_at')
    .execute();
  await db.schema
    .createTable('session_mail')
    .addColumn('session', 'text', (c) => c.notNull())
    .addColumn('ref', 'text', (c) => c.notNull())
    .addColumn('payload', 'text')
    .addColumn('expires_at', time, (c) => c.notNull())
    .addPrimaryKeyConstraint('session_mail_key', ['session', 'ref'])
    .execute();
  await db.schema
    .createIndex('session_mail_expiry')
    .on('session_mail')
    .column('expires_at')
    .execute();
}
