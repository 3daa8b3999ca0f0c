import type { ClientId, GrantId, UserId } from './ids.ts';

/** What happened, told once where it happens. Log and metrics subscribe; nothing here is secret. */
export type Event =
  | { type: 'server.listening'; url: string }
  | { type: 'server.draining' }
  | { type: 'server.error'; where: string; message: string; stack?: string | undefined }
  | { type: 'http.refused'; reason: string; address: string; path: string }
  | { type: 'tools.loaded'; count: number; names: string[] }
  | { type: 'tools.rejected'; file: string; reason: string }
  | { type: 'tools.warning'; tool: string; reason: string }
  | { type: 'roles.warning'; reason: string }
  | { type: 'roles.rejected'; reason: string }
  | { type: 'keys.reloaded'; kids: string[] }
  | { type: 'certificate.loaded'; subject: string; fingerprint256: string; notAfter: string }
  | { type: 'certificate.rejected'; reason: string }
  | {
      type: 'certificate.warning';
      reason: string;
      /** Whether clients accept it at this moment. */
      isValid: boolean;
      subject: string;
      notAfter: string;
    }
  | { type: 'login.succeeded'; userId: UserId; address: string }
  | { type: 'login.failed'; address: string; reason: string }
  | { type: 'login.throttled'; address: string }
  | { type: 'consent.given'; grantId: GrantId; clientId: ClientId; userId: UserId }
  | { type: 'consent.refused'; clientId: ClientId }
  | { type: 'client.registered'; clientId: ClientId; address: string; isNew: boolean }
  | { type: 'client.document'; url: string; outcome: string }
  | { type: 'oauth.error'; endpoint: string; error: string; reason: string | undefined }
  | { type: 'token.issued'; grantId: GrantId; kind: 'code' | 'refresh' | 'retry' }
  | { type: 'grant.revoked'; grantId: GrantId; reason: string }
  | { type: 'session.refused'; userId: UserId; address: string }
  | { type: 'request.denied'; reason: string; address: string; requestId: string }
  | {
      type: 'tool.called';
      tool: string;
      outcome: 'done' | 'failed' | 'refused' | 'cancelled' | 'asked';
      milliseconds: number;
      grantId: GrantId | undefined;
      requestId: string;
      reason?: string | undefined;
    }
  | {
      type: 'tool.log';
      tool: string;
      requestId: string;
      level: 'info' | 'warn' | 'error';
      message: string;
    };

export type Emit = (event: Event) => void;

/** An emitter with subscribers; a subscriber that throws never breaks the one who tells. */
export function createEvents(): { emit: Emit; subscribe: (listener: Emit) => void } {
  const listeners: Emit[] = [];
  return {
    emit(event) {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch {
          // A broken log must not stop a login.
        }
      }
    },
    subscribe(listener) {
      listeners.push(listener);
    },
  };
}
