import { WeirError, type WeirErrorOptions } from '../errors.ts';

/** A command about sources that cannot be carried out; the message is for users and has no secrets. */
export class SubscribeError extends WeirError {
  constructor(message: string, options?: WeirErrorOptions) {
    super('subscribe', message, options);
  }
}

/** What a source sent cannot be used: its nodes stay as they are. The message is the cause. */
export class RefusedAnswerError extends WeirError {
  constructor(message: string, options?: WeirErrorOptions) {
    super('refused_answer', message, options);
  }
}
