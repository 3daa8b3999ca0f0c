import type { Revoked } from '#src/storage/revoke.ts';
import { counted, table } from './table.ts';

/** How every command that revokes says what ended: each grant, and how many tokens died with it. */

export interface RevokedJson {
  revoked: { id: string; user: string; clientId: string; clientName: string; tokens: number }[];
  tokens: number;
}

export function revokedJson(revoked: readonly Revoked[]): RevokedJson {
  return {
    revoked: revoked.map((one) => ({
      id: one.grantId,
      user: one.userName,
      clientId: one.clientId,
      clientName: one.clientName,
      tokens: one.tokens,
    })),
    tokens: countTokens(revoked),
  };
}

/** A table of the grants and a sentence with the sums. */
export function revokedText(
  revoked: readonly Revoked[],
  options: { dryRun: boolean } = { dryRun: false },
): string {
  const rows = revoked.map((one) => [
    one.grantId,
    one.userName,
    one.clientName,
    one.clientId,
    one.tokens,
  ]);
  const list = table(['GRANT', 'USER', 'CLIENT', 'CLIENT ID', 'TOKENS'], rows);
  if (list === '') return 'No grant was active.';
  const { grants, tokens } = sumOf(revoked);
  const sum = options.dryRun
    ? `Nothing was changed. Without --dry-run: ${grants} revoked; ${tokens} dead with it.`
    : `${grants} revoked; ${tokens} died with it.`;
  return `${list}\n${revoked.length === 1 ? sum : sum.replace('with it', 'with them')}`;
}

/** `2 grants`, `5 tokens`. */
export function sumOf(revoked: readonly Revoked[]): { grants: string; tokens: string } {
  return {
    grants: counted(revoked.length, 'grant'),
    tokens: counted(countTokens(revoked), 'token'),
  };
}

function countTokens(revoked: readonly Revoked[]): number {
  return revoked.reduce((sum, one) => sum + one.tokens, 0);
}
