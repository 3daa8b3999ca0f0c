import type { Generated } from 'kysely';

/*
 * The state store's tables, as TypeScript. Times are milliseconds since the epoch. Lists and
 * documents are JSON text. What a bearer could use is here as a digest only.
 */

export interface UserTable {
  id: string;
  name: string;
  /** The name in lower case and NFKC: two accounts cannot look alike by case. */
  name_key: string;
  /** argon2id, PHC string; null for accounts that the project's own login made. */
  password_hash: string | null;
  roles: string;
  /** What the project's own login said last that the person holds, in place of roles; else null. */
  privileges: string | null;
  status: 'active' | 'disabled';
  created_at: number;
  last_login_at: number | null;
  /** Logins up to here count no more: the password was changed, or the account disabled. */
  logins_end_at: number;
}

export interface ClientTable {
  id: string;
  kind: 'registered' | 'document' | 'static' | 'resource-server';
  name: string;
  /** RFC 7591 metadata as accepted, without secrets. */
  metadata: string;
  /** SHA-256 of the client secret, for clients that have one. */
  secret_digest: string | null;
  status: 'active' | 'blocked';
  created_at: number;
  last_used_at: number | null;
}

export interface GrantTable {
  id: string;
  user_id: string;
  client_id: string;
  client_name: string;
  redirect_uri: string;
  redirect_host: string;
  /** What was consented to. */
  privileges: string;
  /** What the consent page offered; a remembered consent counts only for the same offer. */
  offered: string;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
  revoked_reason: string | null;
  last_used_at: number | null;
  last_used_ip: string | null;
}

export interface TokenTable {
  digest: string;
  kind: 'code' | 'access' | 'refresh';
  grant_id: string;
  client_id: string;
  /** Facts needed at redemption, for codes. */
  payload: string;
  issued_at: number;
  expires_at: number;
  used_at: number | null;
  /** Which key derived the successor of a used refresh token. */
  successor_kid: string | null;
}

export interface BrowserSessionTable {
  digest: string;
  /** Digest of the session's uid, by which interactions find it. */
  uid_digest: string;
  user_id: string | null;
  payload: string;
  expires_at: number;
}

/** Interactions under way and one-time marks of the authorization server. */
export interface ArtifactTable {
  kind: string;
  digest: string;
  payload: string;
  expires_at: number;
}

export interface MetadataDocumentTable {
  url: string;
  /** The last good copy, or null when none was ever fetched. */
  body: string | null;
  fetched_at: number | null;
  fresh_until: number;
  /** Why the last fetch failed, or null. */
  failure: string | null;
}

export interface ThrottleTable {
  key: string;
  count: number;
  window_ends_at: number;
}

export interface SigningKeyTable {
  kid: string;
  status: 'active' | 'retiring' | 'dropped';
  created_at: number;
  retires_at: number | null;
}

/** Who uses the server just now: one for a person in a client. */
export interface AccessSessionTable {
  id: string;
  /** What makes it one: how the caller is known. */
  key: string;
  user_id: string;
  client_id: string;
  client_name: string;
  /** The grant under which it was used last. */
  grant_id: string;
  /** From where it was opened. */
  address: string;
  /** What the project keeps in it. */
  storage: string;
  created_at: number;
  /** null until the project's hook is done with it. */
  opened_at: number | null;
  last_used_at: number;
  expires_at: number;
}

/** Sessions of the older MCP revisions. */
export interface ProtocolSessionTable {
  digest: string;
  user_id: string;
  client_id: string;
  /** The grant under which it was used last. */
  grant_id: string;
  version: string;
  capabilities: string;
  created_at: number;
  expires_at: number;
}

/** What one process leaves for the one that runs a session's call. */
export interface SessionMailTable {
  session: string;
  ref: string;
  /** null while it is only expected. */
  payload: string | null;
  expires_at: number;
}

/** Bytes that tools made, for download. */
export interface BinaryTable {
  digest: string;
  grant_id: string;
  mime_type: string;
  /** Encrypted under the secret in its address, which is not here. */
  sealed: Uint8Array;
  expires_at: number;
}

/** What is switched while servers run. */
export interface SettingTable {
  name: string;
  value: string;
}

export interface AuditTable {
  seq: Generated<number>;
  /** Every writing process has a chain of its own; `chain_seq` counts within it from 1. */
  chain: string;
  chain_seq: number;
  at: number;
  actor: string;
  action: string;
  subject: string | null;
  client_id: string | null;
  grant_id: string | null;
  outcome: string;
  detail: string;
  hash: string;
}

export interface SchemaVersionTable {
  id: number;
  version: number;
}

export interface Database {
  users: UserTable;
  clients: ClientTable;
  grants: GrantTable;
  tokens: TokenTable;
  browser_sessions: BrowserSessionTable;
  artifacts: ArtifactTable;
  metadata_documents: MetadataDocumentTable;
  throttles: ThrottleTable;
  signing_keys: SigningKeyTable;
  settings: SettingTable;
  binaries: BinaryTable;
  access_sessions: AccessSessionTable;
  protocol_sessions: ProtocolSessionTable;
  session_mail: SessionMailTable;
  audit: AuditTable;
  schema_version: SchemaVersionTable;
}
