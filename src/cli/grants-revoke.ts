import type { Command } from 'commander';
import { AppError } from '#src/errors.ts';
import { grantStatus } from '#src/grants/grant.ts';
import {
  countLiveTokens,
  listGrants,
  type GrantFilter,
  type ListedGrant,
} from '#src/storage/grants.ts';
import { revokeGrants, type Revoked } from '#src/storage/revoke.ts';
import type { Store } from '#src/storage/open.ts';
import { confirm, requireTerminal } from './ask.ts';
import { ACTOR, commonOptions, open, readProject } from './command.ts';
import { grantFilter, type GrantFilterOptions } from './lookup.ts';
import { printNote, printResult } from './output.ts';
import { revokedJson, revokedText, sumOf } from './revoked.ts';

/** `castellan grants revoke`: what was asked, checked; then one transaction; then what became of it. */

export interface RevokeOptions extends GrantFilterOptions {
  all: boolean;
  dryRun: boolean;
  yes: boolean;
}

/** What one run ended, and what the ids named besides. */
interface Outcome {
  revoked: Revoked[];
  /** Named by id, but over before this run. */
  ended: ListedGrant[];
  /** Ids of no grant. */
  unknown: string[];
}

/** The command's action. */
export async function revoke(
  ids: string[],
  options: RevokeOptions,
  command: Command,
): Promise<void> {
  checkSelection(ids, options);
  const asks = options.all && !options.yes && !options.dryRun;
  if (asks) requireTerminal(YES_HINT);
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const filter = await grantFilter(store.db, options);
  if (ids.length > 0) filter.ids = [...new Set(ids)];
  if (asks) await confirmAll(store);
  const outcome = options.dryRun ? await preview(store, filter) : await perform(store, filter);
  report(outcome, { dryRun: options.dryRun, json: commonOptions(command).json });
}

const YES_HINT = 'Add --yes to revoke every grant without being asked.';

/** Ids or filters or everything: a slip must not revoke more than was meant. */
function checkSelection(ids: readonly string[], options: RevokeOptions): void {
  const filters = options.user !== undefined || options.client !== undefined;
  const ways = [ids.length > 0, filters, options.all].filter(Boolean).length;
  if (ways === 1) return;
  const hint = 'Give grant ids, or --user and --client (one or both), or --all.';
  const problem =
    ways === 0 ? 'It is not said which grants' : 'Ids, filters and --all exclude one another';
  throw new AppError('usage', problem, { hint });
}

async function perform(store: Store, filter: GrantFilter): Promise<Outcome> {
  return store.transaction(async (work) => {
    const named = await listGrants(work.db, filter);
    const revoked = await revokeGrants(work, {
      actor: ACTOR,
      reason: 'administrator',
      where: filter,
    });
    return outcomeOf(filter, named, revoked);
  });
}

async function preview(store: Store, filter: GrantFilter): Promise<Outcome> {
  const now = store.clock.now();
  const named = await listGrants(store.db, filter);
  const active = named.filter((grant) => grantStatus(grant, now) === 'active');
  const live = await liveTokens(store, active);
  const revoked = active.map((grant) => ({
    grantId: grant.id,
    userName: grant.userName,
    clientId: grant.clientId,
    clientName: grant.clientName,
    tokens: live.get(grant.id) ?? 0,
  }));
  return outcomeOf(filter, named, revoked);
}

function outcomeOf(filter: GrantFilter, named: ListedGrant[], revoked: Revoked[]): Outcome {
  const known = new Set<string>(named.map((grant) => grant.id));
  const ended = new Set<string>(revoked.map((one) => one.grantId));
  return {
    revoked,
    ended: filter.ids === undefined ? [] : named.filter((grant) => !ended.has(grant.id)),
    unknown: (filter.ids ?? []).filter((id) => !known.has(id)),
  };
}

/** As many ids at once as every engine takes in one statement. */
const BATCH = 1_000;

async function liveTokens(
  store: Store,
  grants: readonly ListedGrant[],
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let start = 0; start < grants.length; start += BATCH) {
    const ids = grants.slice(start, start + BATCH).map((grant) => grant.id);
    for (const [id, count] of await countLiveTokens(store.db, ids, store.clock.now()))
      counts.set(id, count);
  }
  return counts;
}

async function confirmAll(store: Store): Promise<void> {
  const { revoked } = await preview(store, {});
  if (revoked.length === 0) return;
  const { grants, tokens } = sumOf(revoked);
  if (await confirm(`Revoke all ${grants}, with ${tokens}?`, YES_HINT)) return;
  throw new AppError('forbidden', 'Nothing was changed');
}

/**
 * Prints the result, then names what the command line asked for in vain.
 * @throws `nothing_matched` when nothing was revoked, `invalid_input` when some ids are unknown.
 */
function report(outcome: Outcome, options: { dryRun: boolean; json: boolean }): void {
  const { revoked, ended, unknown } = outcome;
  const value = { ...revokedJson(revoked), dryRun: options.dryRun, unknown };
  printResult(options, value, () => (revoked.length === 0 ? '' : revokedText(revoked, options)));
  for (const grant of ended) {
    const why =
      grant.revokedAt === null ? 'has expired' : `was revoked before (${grant.revokedReason})`;
    printNote(`Grant ${grant.id} ${why}.`);
  }
  const hint = 'castellan grants list shows the grants.';
  const missing = `There is no grant ${unknown.map((id) => `"${id}"`).join(', ')}`;
  if (revoked.length === 0) {
    throw new AppError(
      'nothing_matched',
      unknown.length > 0 ? missing : 'No active grant matched',
      { hint },
    );
  }
  if (unknown.length > 0) throw new AppError('invalid_input', missing, { hint });
}
