/** Lets one holder at a time run; the others wait in order. */
export class Mutex {
  #tail: Promise<void> = Promise.resolve();

  /** Resolves, with the function that lets the next one in, when it is this caller's turn. */
  async acquire(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = this.#tail;
    this.#tail = promise;
    await turn;
    return resolve;
  }
}
