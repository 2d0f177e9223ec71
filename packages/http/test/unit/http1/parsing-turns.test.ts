import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ParsingTurns } from '../../../src/http1/paced-socket.ts';

/** Turns with a clock that parsing moves on, which begin when told to. */
class Turns {
  /** What was parsed, in its order. */
  readonly parsed: string[] = [];
  readonly #pending: (() => void)[] = [];
  #now = 0;
  readonly turns = new ParsingTurns({
    now: () => this.#now,
    nextTurn: (begin) => void this.#pending.push(begin),
  });

  /** Enters a connection of so many pieces, each of which takes `milliseconds`. */
  enter(name: string, pieces: number, milliseconds: number): { parsePiece: () => void } {
    const connection = {
      parsePiece: () => {
        this.parsed.push(name);
        this.#now += milliseconds;
        if (--pieces > 0) this.turns.enter(connection);
      },
    };
    this.turns.enter(connection);
    return connection;
  }

  /** Begins the next turn. @returns what was parsed in it */
  next(): string[] {
    const before = this.parsed.length;
    this.#pending.shift()?.();
    return this.parsed.slice(before);
  }

  pass(milliseconds: number): void {
    this.#now += milliseconds;
  }

  get hasNext(): boolean {
    return this.#pending.length > 0;
  }
}

describe('turns of parsing', () => {
  test('a piece that comes to a new turn is parsed before enter returns', () => {
    const turns = new Turns();
    turns.enter('a', 1, 1);
    assert.deepEqual(turns.parsed, ['a']);
  });

  test('what does not fit into the time of a turn waits for the next', () => {
    const turns = new Turns();
    turns.enter('a', 12, 1);
    assert.equal(turns.parsed.length, 5);
    assert.equal(turns.next().length, 5);
    assert.equal(turns.next().length, 2);
  });

  test('time that other work of the turn takes counts too', () => {
    const turns = new Turns();
    turns.enter('a', 1, 1);
    turns.pass(4);
    turns.enter('b', 1, 1);
    assert.deepEqual(turns.parsed, ['a']);
    assert.deepEqual(turns.next(), ['b']);
  });

  test('connections take turns, piece by piece', () => {
    const turns = new Turns();
    turns.enter('a', 8, 1);
    turns.enter('b', 2, 1);
    turns.enter('c', 1, 1);
    assert.deepEqual(turns.parsed, Array(5).fill('a'));
    assert.deepEqual(turns.next(), ['a', 'b', 'c', 'a', 'b']);
    assert.deepEqual(turns.next(), ['a']);
  });

  test('a turn parses one piece at least, however long it takes', () => {
    const turns = new Turns();
    turns.enter('a', 3, 100);
    assert.deepEqual(turns.next(), ['a']);
    assert.deepEqual(turns.next(), ['a']);
    turns.next();
    assert.equal(turns.hasNext, false);
  });

  test('a connection that has left is not parsed', () => {
    const turns = new Turns();
    turns.enter('a', 1, 10);
    const connection = turns.enter('b', 1, 1);
    turns.turns.leave(connection);
    assert.deepEqual(turns.next(), []);
  });

  test('without anything to parse no further turn is asked for', () => {
    const turns = new Turns();
    turns.enter('a', 1, 1);
    turns.next();
    assert.equal(turns.hasNext, false);
    turns.enter('b', 1, 1);
    assert.deepEqual(turns.parsed, ['a', 'b']);
  });

  test('a parser that throws does not end the turns', () => {
    const turns = new Turns();
    const thrower = { parsePiece: () => assert.fail('thrown') };
    assert.throws(() => turns.turns.enter(thrower), /thrown/);
    turns.enter('a', 1, 1);
    assert.deepEqual(turns.parsed, ['a']);
  });
});
