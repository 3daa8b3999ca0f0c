import type { Kysely } from 'kysely';
import type { Dialect } from '#src/storage/dialect.ts';

/** The first state store. Append-only: a change of shape is a new migration. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const time = dialect === 'postgres' ? 'bigint' : 'integer';
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('name_key', 'text', (c) => c.notNull().unique())
    .addColumn('password_hash', 'text')
    .addColumn('roles', 'text', (c) => c.notNull())
    .addColumn('privileges', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('created_at', time, (c) => c.notNull())
    .addColumn('last_login_at', time)
    .addColumn('logins_end_at', time, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('clients')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('metadata', 'text', (c) => c.notNull())
    .addColumn('secret_digest', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('created_at', time, (c) => c.notNull())
    .addColumn('last_used_at', time)
    .execute();
  await db.schema
    .createIndex('clients_kind')
    .on('clients')
    .columns(['kind', 'last_used_at'])
    .execute();
  await createGrantTables(db, time);
  await createBrowserTables(db, time);
  await createOperationTables(db, time, dialect);
}

async function createGrantTables(db: Kysely<unknown>, time: 'bigint' | 'integer'): Promise<void> {
  await db.schema
    .createTable('grants')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('client_id', 'text', (c) => c.notNull().references('clients.id').onDelete('cascade'))
    .addColumn('client_name', 'text', (c) => c.notNull())
    .addColumn('redirect_uri', 'text', (c) => c.notNull())
    .addColumn('redirect_host', 'text', (c) => c.notNull())
    .addColumn('privileges', 'text', (c) => c.notNull())
    .addColumn('offered', 'text', (c) => c.notNull())
    .addColumn('created_at', time, (c) => c.notNull())
    .addColumn('expires_at', time, (c) => c.notNull())
    .addColumn('revoked_at', time)
    .addColumn('revoked_reason', 'text')
    .addColumn('last_used_at', time)
    .addColumn('last_used_ip', 'text')
    .execute();
  await db.schema
    .createIndex('grants_user')
    .on('grants')
    .columns(['user_id', 'client_id'])
    .execute();
  await db.schema.createIndex('grants_client').on('grants').column('client_id').execute();
  await db.schema
    .createTable('tokens')
    .addColumn('digest', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('grant_id', 'text', (c) => c.notNull().references('grants.id').onDelete('cascade'))
    .addColumn('client_id', 'text', (c) => c.notNull())
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('issued_at', time, (c) => c.notNull())
    .addColumn('expires_at', time, (c) => c.notNull())
    .addColumn('used_at', time)
    .addColumn('successor_kid', 'text')
    .execute();
  await db.schema.createIndex('tokens_grant').on('tokens').columns(['grant_id', 'kind']).execute();
  await db.schema.createIndex('tokens_expiry').on('tokens').column('expires_at').execute();
}

async function createBrowserTables(db: Kysely<unknown>, time: 'bigint' | 'integer'): Promise<void> {
  await db.schema
    .createTable('browser_sessions')
    .addColumn('digest', 'text', (c) => c.primaryKey())
    .addColumn('uid_digest', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text')
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('expires_at', time, (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('browser_sessions_uid')
    .on('browser_sessions')
    .column('uid_digest')
    .execute();
  await db.schema
    .createIndex('browser_sessions_user')
    .on('browser_sessions')
    .column('user_id')
    .execute();
  await db.schema
    .createIndex('browser_sessions_expiry')
    .on('browser_sessions')
    .column('expires_at')
    .execute();
  await db.schema
    .createTable('artifacts')
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('expires_at', time, (c) => c.notNull())
    .addPrimaryKeyConstraint('artifacts_key', ['kind', 'digest'])
    .execute();
  await db.schema.createIndex('artifacts_expiry').on('artifacts').column('expires_at').execute();
  await db.schema
    .createTable('metadata_documents')
    .addColumn('url', 'text', (c) => c.primaryKey())
    .addColumn('body', 'text')
    .addColumn('fetched_at', time)
    .addColumn('fresh_until', time, (c) => c.notNull())
    .addColumn('failure', 'text')
    .execute();
  await db.schema
    .createIndex('metadata_documents_fresh')
    .on('metadata_documents')
    .column('fresh_until')
    .execute();
}

async function createOperationTables(
  db: Kysely<unknown>,
  time: 'bigint' | 'integer',
  dialect: Dialect,
): Promise<void> {
  await db.schema
    .createTable('throttles')
    .addColumn('key', 'text', (c) => c.primaryKey())
    .addColumn('count', 'integer', (c) => c.notNull())
    .addColumn('window_ends_at', time, (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('throttles_expiry')
    .on('throttles')
    .column('window_ends_at')
    .execute();
  await db.schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (c) => c.primaryKey())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('created_at', time, (c) => c.notNull())
    .addColumn('retires_at', time)
    .execute();
  const audit = db.schema.createTable('audit');
  const numbered =
    dialect === 'postgres'
      ? audit.addColumn('seq', 'bigint', (c) => c.primaryKey().generatedAlwaysAsIdentity())
      : audit.addColumn('seq', 'integer', (c) => c.primaryKey().autoIncrement());
  await numbered
    .addColumn('chain', 'text', (c) => c.notNull())
    .addColumn('chain_seq', 'integer', (c) => c.notNull())
    .addColumn('at', time, (c) => c.notNull())
    .addColumn('actor', 'text', (c) => c.notNull())
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('subject', 'text')
    .addColumn('client_id', 'text')
    .addColumn('grant_id', 'text')
    .addColumn('outcome', 'text', (c) => c.notNull())
    .addColumn('detail', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addUniqueConstraint('audit_chain', ['chain', 'chain_seq'])
    .execute();
  await db.schema.createIndex('audit_at').on('audit').column('at').execute();
}
