import { toolError, type ToolContext } from '#src/tools/define.ts';
import type { AccessSessionId } from '#src/ids.ts';
import { changeSessionStorage, readSessionStorage } from '#src/storage/access-sessions.ts';
import type { Store } from '#src/storage/open.ts';

/** What tools and the project's hook keep in an access session. It is in the store: any process sees it. */

export type SessionStorage = ToolContext['session']['storage'];

const LONGEST_KEY = 128;
const LARGEST_STORAGE = 65_536;

export function sessionStorage(store: Store, id: AccessSessionId): SessionStorage {
  const change = async (
    key: string,
    to: (storage: Record<string, unknown>) => Record<string, unknown>,
  ): Promise<void> => {
    checkKey(key);
    const isThere = await store.transaction((work) =>
      changeSessionStorage(work, id, (storage) => bounded(to(storage))),
    );
    if (!isThere) throw toolError('This session is over; try again');
  };
  return {
    async get(key) {
      const storage = await readSessionStorage(store.db, id);
      return storage !== undefined && Object.hasOwn(storage, key) ? storage[key] : undefined;
    },
    async set(key, value) {
      if (JSON.stringify(value) === undefined)
        throw new TypeError(`what is kept under ${key} is not JSON`);
      // Made anew, so that a key such as `__proto__` is one like any other.
      await change(key, (storage) =>
        Object.fromEntries([...Object.entries(storage), [key, value]]),
      );
    },
    async delete(key) {
      await change(key, (storage) =>
        Object.fromEntries(Object.entries(storage).filter(([name]) => name !== key)),
      );
    },
  };
}

function checkKey(key: string): void {
  if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY)
    throw new TypeError(`a key of a session's storage has 1 to ${LONGEST_KEY} characters`);
}

function bounded(storage: Record<string, unknown>): Record<string, unknown> {
  if (JSON.stringify(storage).length > LARGEST_STORAGE)
    throw new RangeError(`a session's storage holds at most ${LARGEST_STORAGE} characters of JSON`);
  return storage;
}
