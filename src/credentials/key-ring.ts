import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { AppError } from '#src/errors.ts';
import type { KeyFile, KeySource, StoredKey } from './key-file.ts';

/*
 * The secrets of this installation, in memory. Signing keys sign access tokens; what else needs a
 * secret (cookies, forms, refresh successors) is derived from them, each with a label of its own.
 * Whether a key still counts is asked of the store at every request, not here.
 */

export interface SigningKey {
  kid: string;
  key: KeyObject;
  createdAt: number;
}

type Label = 'ask' | 'cookies' | 'forms' | 'refresh' | 'lookup';

export class KeyRing {
  readonly #source: KeySource;
  #keys = new Map<string, SigningKey & { secret: Buffer }>();
  #activeKid = '';
  #audit = Buffer.alloc(0);
  #revision: string | undefined;
  #listeners: (() => void)[] = [];

  private constructor(source: KeySource) {
    this.#source = source;
  }

  /** @throws `keys_unsafe`, `keys_invalid` as the source does. */
  static async open(source: KeySource): Promise<KeyRing> {
    const ring = new KeyRing(source);
    await ring.refresh();
    return ring;
  }

  /** The key that signs now, after looking whether the file has changed. */
  async active(): Promise<SigningKey> {
    await this.refresh();
    return this.#entry(this.#activeKid);
  }

  find(kid: string): SigningKey | undefined {
    return this.#keys.get(kid);
  }

  all(): SigningKey[] {
    return [...this.#keys.values()];
  }

  /** As it was when the keys were read last. */
  get activeKid(): string {
    return this.#activeKid;
  }

  get auditKey(): Buffer {
    return this.#audit;
  }

  /** A secret for one purpose, derived from a signing key (RFC 5869). Undefined when the key is gone. */
  derive(label: Label, kid: string = this.#activeKid): Buffer | undefined {
    const entry = this.#keys.get(kid);
    return entry && Buffer.from(hkdfSync('sha256', entry.secret, '', `castellan ${label}`, 32));
  }

  /** The same for every key, the active one first. */
  deriveAll(label: Label): Buffer[] {
    const kids = [
      this.#activeKid,
      ...[...this.#keys.keys()].filter((kid) => kid !== this.#activeKid),
    ];
    return kids.map((kid) => this.derive(label, kid)).filter((secret) => secret !== undefined);
  }

  /** Calls back whenever the keys have changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Reads the source again when it has changed since. */
  async refresh(): Promise<void> {
    const revision = await this.#source.revision();
    if (revision === this.#revision) return;
    this.#load(await this.#source.read());
    this.#revision = revision;
    for (const listener of this.#listeners) listener();
  }

  #load(file: KeyFile): void {
    const active = file.signing.find((key) => key.status === 'active');
    if (active === undefined)
      throw new AppError('keys_invalid', 'The keys name no active signing key');
    this.#keys = new Map(file.signing.map((key) => [key.kid, signingKey(key)]));
    this.#activeKid = active.kid;
    this.#audit = Buffer.from(file.audit, 'base64url');
  }

  #entry(kid: string): SigningKey {
    const entry = this.#keys.get(kid);
    if (entry === undefined) throw new AppError('internal', 'the active key is missing');
    return entry;
  }
}

function signingKey(key: StoredKey): SigningKey & { secret: Buffer } {
  const secret = Buffer.from(key.secret, 'base64url');
  return {
    kid: key.kid,
    key: createSecretKey(secret),
    createdAt: Date.parse(key.createdAt),
    secret,
  };
}
