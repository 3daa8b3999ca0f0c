/** Counts what goes on at the same moment, by whom: nobody may have more of it than there may be. */
export class AtOnce {
  readonly #most: number;
  readonly #running = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** One more, until it is disposed; undefined when there are as many as there may be. */
  enter(who: string): Disposable | undefined {
    const others = this.#running.get(who) ?? 0;
    if (others >= this.#most) return undefined;
    this.#running.set(who, others + 1);
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        const left = (this.#running.get(who) ?? 1) - 1;
        if (left > 0) this.#running.set(who, left);
        else this.#running.delete(who);
      },
    };
  }
}
