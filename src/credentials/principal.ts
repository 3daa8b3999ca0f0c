import { LRUCache } from 'lru-cache';
import type { Access } from '#src/access/access.ts';
import type { AccessRecord } from '#src/grants/grant.ts';
import type { ClientId, GrantId, UserId } from '#src/ids.ts';

/** Who is calling, and what they may do now. Made anew for every request. */
export interface Principal {
  user: { id: UserId; name: string; roles: readonly string[] };
  client: { id: ClientId; name: string };
  grantId: GrantId;
  /** The access session as it was read with the grant; it may be over. */
  session: AccessRecord['session'];
  /** What was consented to, as it was. */
  granted: readonly string[];
  /** What that amounts to now: with includes, and never more than the person holds. */
  effective: ReadonlySet<string>;
  /** What a wider consent could give. */
  attainable: ReadonlySet<string>;
}

interface Rights {
  roles: readonly string[];
  granted: readonly string[];
  effective: ReadonlySet<string>;
  attainable: ReadonlySet<string>;
}

const DISTINCT_RIGHTS = 5_000;

/**
 * Turns access records into principals. What the lists of a record mean together is worked out
 * once per roles.json; the lists themselves are read from the store at every request.
 */
export function principalsFor(access: Access): (record: AccessRecord) => Principal {
  const known = new LRUCache<string, Rights>({ max: DISTINCT_RIGHTS });
  const rightsOf = (record: AccessRecord): Rights => {
    const key = `${record.privileges}\n${record.roles}\n${record.userPrivileges}`;
    let rights = known.get(key);
    if (rights === undefined) {
      const roles = JSON.parse(record.roles) as string[];
      const granted = JSON.parse(record.privileges) as string[];
      const attainable = access.held({ roles, privileges: listOrNull(record.userPrivileges) });
      rights = {
        roles,
        granted,
        attainable,
        effective: access.closure(granted).intersection(attainable),
      };
      known.set(key, rights);
    }
    return rights;
  };
  return (record) => {
    const { roles, granted, effective, attainable } = rightsOf(record);
    return {
      user: { id: record.userId, name: record.userName, roles },
      client: { id: record.clientId, name: record.clientName },
      grantId: record.grantId,
      session: record.session,
      granted,
      effective,
      attainable,
    };
  };
}

function listOrNull(text: string | null): string[] | null {
  return text === null ? null : (JSON.parse(text) as string[]);
}
