import { messageOf, WeirError } from '@weir/base';
import { DeadlineError } from '@weir/io';
import { sourceGroup, Shares } from '@weir/io/bounds';
import type { Clock } from '@weir/io/time';

/*
 * Functions of the host program that decide in place of accounts and rules.
 */

/** A client of a `socks` or `http` inbound, as the host program is asked about it. */
export interface AuthorizeQuestion {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The user name and the password that the client has sent; `undefined` if it has sent none. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The client's IP address; `undefined` on a unix socket. */
  readonly source: string | undefined;
}

/** Whether a client is accepted, or the user that its flows belong to if that is not the name that it has sent. */
export type AuthorizeAnswer = boolean | { readonly user: string };

/** A flow that is to be routed. */
export interface RouteQuestion {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address; `undefined` on a unix socket, and for a flow of the host program. */
  readonly source: string | undefined;
  /** Label of the user; `undefined` without authentication. */
  readonly user: string | undefined;
  readonly network: 'tcp' | 'udp';
  /** The destination: a name in ASCII and lower case, or an IP address. */
  readonly host: string;
  readonly port: number;
  /** The name in the first bytes of a connection to an IP address, if its inbound sniffs and a rule needs it. */
  readonly sniffed: string | undefined;
}

/** The tag of an outbound or balancer, a refusal, or `undefined` to leave the flow to the rules. */
export type RouteAnswer = string | { readonly refuse: true } | undefined;

/** A function of the host program, which may be asynchronous. */
export type Hook<Question, Answer> = (question: Question) => Answer | PromiseLike<Answer>;

/** The hooks of a running proxy. */
export interface Hooks {
  /** Asked about every client of `socks` and `http` inbounds that the accounts of the configuration accept. */
  readonly authorize?: HookCalls<AuthorizeQuestion, AuthorizeAnswer> | undefined;
  /** Asked about every flow for which no outbound has been chosen. */
  readonly route?: HookCalls<RouteQuestion, RouteAnswer> | undefined;
}

/** A hook has thrown, took too long, has returned an invalid value, or was not called since too many calls wait. */
export class HookError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('hook', message, options);
  }
}

interface HookOptions {
  readonly clock: Clock;
  /** Milliseconds that a call may take. */
  readonly timeoutMs: number;
  /** Calls that may wait at a time. */
  readonly maxPending: number;
}

/** The parts of a question that matter for its call. */
interface HookQuestion {
  readonly source: string | undefined;
  readonly password?: string | undefined;
}

/** Part of the places that one source may hold once half of all are taken. */
const SHARE = 8;

/** Calls of a hook within each other, long before the stack overflows somewhere. */
const MAX_DEPTH = 16;

/**
 * The calls of one hook: each has a time limit, and the number that waits is bounded. A synchronous hook never waits.
 *
 * A client needs no password to have a hook called, so once half of the places are taken, each source is limited to an
 * eighth of them: a slow hook then still has room for others.
 */
export class HookCalls<Question extends HookQuestion, Answer> {
  readonly #name: string;
  readonly #hook: Hook<Question, Answer>;
  readonly #isAnswer: (value: unknown) => value is Answer;
  readonly #options: HookOptions;
  readonly #pending = new Shares<object, string>();
  /** Calls within calls: a hook may open a flow that asks it again. */
  #depth = 0;

  constructor(
    name: string,
    hook: Hook<Question, Answer>,
    isAnswer: (value: unknown) => value is Answer,
    options: HookOptions,
  ) {
    this.#name = name;
    this.#hook = hook;
    this.#isAnswer = isAnswer;
    this.#options = options;
  }

  /** Number of calls that wait. */
  get pending(): number {
    return this.#pending.size;
  }

  /**
   * Calls the hook.
   * @returns its answer, or a promise if the hook returned one
   * @throws {HookError} or rejects with it
   */
  ask(question: Question): Answer | Promise<Answer> {
    if (!this.#hasRoom(question.source)) {
      throw new HookError(`${this.#pending.size} calls of the ${this.#name} hook are waiting`);
    }
    if (this.#depth >= MAX_DEPTH) throw new HookError(`the ${this.#name} hook calls itself`);
    this.#depth++;
    try {
      const answer: unknown = this.#hook(question);
      return isThenable(answer) ? this.#wait(answer, question) : this.#checked(answer);
    } catch (error) {
      throw this.#failed(error, question);
    } finally {
      this.#depth--;
    }
  }

  #hasRoom(source: string | undefined): boolean {
    const { maxPending } = this.#options;
    const { size } = this.#pending;
    if (size < maxPending / 2) return true;
    return size < maxPending && this.#pending.countOf(sourceGroup(source)) < maxPending / SHARE;
  }

  #wait(answer: PromiseLike<unknown>, question: Question): Promise<Answer> {
    const { clock, timeoutMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const call = {};
    this.#pending.add(call, sourceGroup(question.source));
    const timer = clock.after(timeoutMs, () => {
      this.#pending.delete(call);
      const late = new DeadlineError(`it took longer than ${timeoutMs / 1000} s`);
      reject(this.#failed(late, question));
    });
    const settle = (end: () => void): void => {
      timer.cancel();
      this.#pending.delete(call);
      end();
    };
    // Adopted, since the `then` of an object that is no promise may throw, or call back twice.
    Promise.resolve(answer).then(
      (value) =>
        settle(() => {
          try {
            resolve(this.#checked(value));
          } catch (error) {
            reject(this.#failed(error, question));
          }
        }),
      (error: unknown) => settle(() => reject(this.#failed(error, question))),
    );
    return promise;
  }

  #checked(value: unknown): Answer {
    if (this.#isAnswer(value)) return value;
    throw new HookError(`the ${this.#name} hook has returned ${typeName(value)}`);
  }

  /** Returns the error of a call, without the password, which the program's message may quote. */
  #failed(cause: unknown, question: { readonly password?: string | undefined }): HookError {
    if (cause instanceof HookError) return cause;
    const { password = '' } = question;
    const text = textOf(cause);
    const shown = password === '' ? text : text.replaceAll(password, '…');
    return new HookError(`the ${this.#name} hook has failed: ${shown}`, { cause });
  }
}

const NO_TEXT = 'it has thrown a value without a text';

/** Returns the text of what a hook has thrown, which may be anything: also a `message` need not be a string. */
function textOf(thrown: unknown): string {
  try {
    const text: unknown = messageOf(thrown);
    return typeof text === 'string' ? text : NO_TEXT;
  } catch {
    return NO_TEXT;
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  'then' in value &&
  typeof value.then === 'function';

/** Returns the type of an invalid answer: the value itself might be secret. */
const typeName = (value: unknown): string =>
  value === null ? 'null' : `a value of type ${typeof value}`;

export const isAuthorizeAnswer = (value: unknown): value is AuthorizeAnswer =>
  typeof value === 'boolean' ||
  (typeof value === 'object' &&
    value !== null &&
    'user' in value &&
    typeof value.user === 'string');

export const isRouteAnswer = (value: unknown): value is RouteAnswer =>
  value === undefined ||
  typeof value === 'string' ||
  (typeof value === 'object' && value !== null && 'refuse' in value && value.refuse === true);
