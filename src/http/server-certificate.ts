import { createHash } from 'node:crypto';
import { isoTime, DAY, type Clock } from '#src/clock.ts';
import { messageOf } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import {
  certificateWarning,
  parseCertificate,
  readPem,
  type Certificate,
  type CertificateFiles,
  type CertificatePem,
} from './certificate.ts';

/*
 * The certificate in use. Its files are looked at again and again rather than watched: that sees a
 * file that was rewritten or replaced and a link that leads elsewhere, on every file system. What
 * cannot be used never takes the place of what can.
 */

export interface ServerCertificateParts {
  files: CertificateFiles;
  clock: Clock;
  emit: Emit;
}

/** What a look at the files found. Two looks that found the same have the same `revision`. */
type Found = { revision: string; pem: CertificatePem } | { revision: string; problem: string };

export class ServerCertificate {
  readonly #parts: ServerCertificateParts;
  #inUse: Certificate;
  #revisionInUse: string;
  /** What the last look found. */
  #revisionSeen: string;
  /** The reason that was told last, so that a file that stays wrong is told of once. */
  #told: string | undefined;
  #warned: { at: number; isValid: boolean } | undefined;
  #listeners: ((pem: CertificatePem) => void)[] = [];

  private constructor(parts: ServerCertificateParts, certificate: Certificate) {
    this.#parts = parts;
    this.#inUse = certificate;
    this.#revisionInUse = revisionOf(certificate);
    this.#revisionSeen = this.#revisionInUse;
  }

  /**
   * Reads the files for the first time. One whose time is over is served too, with a warning: there is
   * nothing better, and a server that does not start helps nobody to see why.
   * @throws `config_invalid`, `keys_unsafe`, as `readPem` and `parseCertificate` do.
   */
  static async open(parts: ServerCertificateParts): Promise<ServerCertificate> {
    const certificate = parseCertificate(await readPem(parts.files), parts.files);
    const opened = new ServerCertificate(parts, certificate);
    opened.#tellLoaded();
    opened.#warn();
    return opened;
  }

  /** As the files held it when it was taken into use. */
  get pem(): CertificatePem {
    return { cert: this.#inUse.cert, key: this.#inUse.key };
  }

  /** Calls back with every certificate that takes the place of the last one. */
  onChange(listener: (pem: CertificatePem) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Looks at the files. What differs is taken into use when two looks in a row have found the same: two
   * files cannot be replaced at once, and a chain that is half written may look whole. Never rejects.
   */
  async look(): Promise<void> {
    const found = await this.#find();
    const isSettled = found.revision === this.#revisionSeen;
    this.#revisionSeen = found.revision;
    if (found.revision === this.#revisionInUse) this.#told = undefined;
    else if (isSettled) this.#replace(found);
    this.#warn();
  }

  /** Looks at the files regularly. @returns what ends it. */
  watch(everyMs: number): () => void {
    let isLooking = false;
    const timer = setInterval(() => {
      // A file system that does not answer must not be asked ever more.
      if (isLooking) return;
      isLooking = true;
      void this.look().finally(() => (isLooking = false));
    }, everyMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  async #find(): Promise<Found> {
    try {
      const pem = await readPem(this.#parts.files);
      return { revision: revisionOf(pem), pem };
    } catch (error) {
      const problem = messageOf(error);
      return { revision: problem, problem };
    }
  }

  #replace(found: Found): void {
    const problem = 'problem' in found ? found.problem : this.#adopt(found);
    if (problem === undefined || problem === this.#told) return;
    this.#told = problem;
    this.#parts.emit({ type: 'certificate.rejected', reason: problem });
  }

  /** @returns why it is not taken into use. */
  #adopt({ revision, pem }: { revision: string; pem: CertificatePem }): string | undefined {
    const { files, clock } = this.#parts;
    try {
      const certificate = parseCertificate(pem, files);
      const warning = certificateWarning(certificate, clock.now());
      if (warning?.isValid === false) return `listen.tls.certFile: ${warning.reason}`;
      for (const listener of this.#listeners) listener(pem);
      this.#inUse = certificate;
    } catch (error) {
      return messageOf(error);
    }
    this.#revisionInUse = revision;
    this.#told = undefined;
    this.#warned = undefined;
    this.#tellLoaded();
    return undefined;
  }

  #tellLoaded(): void {
    const { subject, fingerprint256 } = this.#inUse;
    const notAfter = isoTime(this.#inUse.notAfter) ?? '';
    this.#parts.emit({ type: 'certificate.loaded', subject, fingerprint256, notAfter });
  }

  /** Once a day, and when its last day is over. */
  #warn(): void {
    const now = this.#parts.clock.now();
    const warning = certificateWarning(this.#inUse, now);
    if (warning === undefined) return;
    const { isValid } = warning;
    if (this.#warned?.isValid === isValid && now - this.#warned.at < DAY) return;
    this.#warned = { at: now, isValid };
    const { subject } = this.#inUse;
    const notAfter = isoTime(this.#inUse.notAfter) ?? '';
    this.#parts.emit({ type: 'certificate.warning', ...warning, subject, notAfter });
  }
}

/** Without keeping the key a second time. */
function revisionOf({ cert, key }: CertificatePem): string {
  return createHash('sha256')
    .update(JSON.stringify([cert, key]))
    .digest('base64url');
}
