import type { Socket } from 'node:net';
import { messageOf } from '@weir/base';
import { jsonIn } from '@weir/base/text/json';
import { leaving, REQUEST_MS, type ControlHandlers } from './control-handlers.ts';
import { failed, problemOfCause } from './messages.ts';

/*
 * The protocol of the control socket until 2.1.0, which commands of an older package still speak: a request is one line,
 * a word with its operand, and the response a line of JSON. It goes with the release after 2.1.1.
 */

type Answer = (operand: string, handlers: ControlHandlers, client: Socket) => unknown;

/** Requests that are answered with one line, by the word. */
const ANSWERS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['log-level', (filter, { setLogFilter }) => setLogFilter(filter)],
  ['drain', (action, { drain }) => drain(action)],
  ['user-flows', (request, { userFlows }) => userFlows(jsonIn(request))],
  ['profile', (request, { profile }, client) => profile(jsonIn(request), leaving(client))],
  [
    'reload',
    (cause, { reload }) => {
      const problem = problemOfCause(cause);
      return problem === undefined ? reload(cause) : failed(problem);
    },
  ],
]);

/** Requests without an operand. */
const BARE: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['reload', (_, { reload }) => reload(undefined)],
  ['status', (_, { status }) => status()],
  ['loaded-files', (_, { loadedFiles }) => loadedFiles()],
]);

/** Serves a request line. @param ahead data that the client sent behind its line: expected only for a flow */
export function serveLine(
  line: string,
  ahead: Buffer,
  client: Socket,
  handlers: ControlHandlers,
): void {
  const [word = ''] = line.split(' ', 1);
  const hasOperand = line.length > word.length;
  const operand = line.slice(word.length + 1);
  if (hasOperand && word === 'connect') {
    client.setTimeout(0);
    if (ahead.length > 0) client.unshift(ahead);
    void handlers.connect(jsonIn(operand), client);
    return;
  }
  const fail = (error: unknown): void =>
    reply(client, failed(`internal error: ${messageOf(error)}`));
  if (hasOperand && word === 'log' && ahead.length === 0) {
    client.setTimeout(0);
    leaving(client);
    handlers.log(jsonIn(operand), client).catch(fail);
    return;
  }
  const answer = (hasOperand ? ANSWERS : BARE).get(word);
  if (!answer || ahead.length > 0) {
    client.destroy();
    return;
  }
  client.resume().setTimeout(0);
  // A failure is reported: without a response the command would have to assume that the process has ended.
  void Promise.try(answer, operand, handlers, client).then((value) => reply(client, value), fail);
}

function reply(client: Socket, value: unknown): void {
  if (client.destroyed) return;
  client.setTimeout(REQUEST_MS);
  client.resume().end(`${JSON.stringify(value)}\n`);
}
