import type { ComponentChildren } from 'preact';
import type { FrameState } from '../../frame/view.ts';
import type { SignedOutCause } from '../connection.ts';
import { counted, escaped, since } from '../format.ts';
import { html } from '../html.ts';
import { CommandLine } from './command-line.ts';

/** A state that the page explains: of Weir, or between the page and the dashboard. */
export type PageState =
  | FrameState
  | { readonly kind: 'dashboard-ended' | 'too-many-windows' }
  | { readonly kind: 'signed-out'; readonly why: SignedOutCause };

/** How much of the page a state concerns. */
type Weight = 'blocking' | 'warning' | 'note';

interface StateText {
  readonly weight: Weight;
  readonly title: string;
  readonly text: string;
  /** Whether the text is a message with lines of a file, whose columns have to line up. */
  readonly isMessage?: boolean;
  /** The next step for the user. */
  readonly step?: string;
  /** A command line or lines of a file for that step. */
  readonly command?: string;
}

/** The text and the next step of each state. */
export function textOf(state: PageState): StateText {
  switch (state.kind) {
    case 'dashboard-ended':
      return {
        weight: 'blocking',
        title: 'The dashboard has ended',
        text: 'Its process does not answer. What you see is the last picture.',
        step: 'Start it again and open the link that it prints. Weir itself is not affected.',
        command: 'weir dashboard',
      };
    case 'too-many-windows':
      return {
        weight: 'blocking',
        title: 'Too many windows',
        text: 'Other windows of this browser show the dashboard already. What you see is the last picture.',
        step: 'Close one of them: this one continues by itself.',
      };
    case 'signed-out':
      return {
        weight: 'blocking',
        title: 'Signed out',
        text: SIGNED_OUT[state.why],
        step: 'Start the dashboard, and open the link that it prints.',
        command: 'weir dashboard',
      };
    case 'nothing-there':
      return {
        weight: 'blocking',
        title: 'Nothing answers at the address',
        text: state.message,
        step: state.hint ?? 'Start Weir, or open the dashboard with the address of its API.',
        command: 'weir run --config config.toml',
      };
    case 'other-server':
      return {
        weight: 'blocking',
        title: 'Something else answers',
        text: state.message,
        step: 'Compare the address with listen of [api] in the configuration, and open the dashboard with it.',
        command: 'weir dashboard --api 127.0.0.1:9090',
      };
    case 'unauthorized':
      return {
        weight: 'blocking',
        title: 'The API requires its secret',
        text: state.message,
        step: 'Open the dashboard with the configuration file: it reads the secret of [api] there.',
        command: 'weir dashboard --config config.toml',
      };
    case 'restarting':
      return {
        weight: 'blocking',
        title: 'Weir has ended or is restarting',
        text: `The connection ended ${since(state.since)} ago. What you see is the last picture, of that time.`,
        step: 'The page continues by itself once Weir answers again. If it does not, ask the service manager why.',
        command: 'systemctl status weir',
      };
    case 'forbidden':
      return state.what === 'api'
        ? {
            weight: 'blocking',
            title: 'No right to the socket of the API',
            text: state.message,
            step: state.hint ?? 'Run the dashboard as the user that runs Weir, or as root.',
          }
        : {
            weight: 'warning',
            title: 'No right to the control socket',
            text: `${state.message}. ${WITHOUT_SOCKET}`,
            step: 'Run the dashboard as the user that runs Weir, or as root.',
          };
    case 'no-api':
      return {
        weight: state.isOld ? 'blocking' : 'warning',
        title: 'The configuration has no [api]',
        text: 'Without it there are no connections, rates and routes to show, and who is connected is not known.',
        step: `Add these lines to ${state.config ?? 'the configuration'}, and reload. The unix socket is for the user of Weir and root alone:`,
        command: `[api]\nlisten = ${JSON.stringify(state.listen ?? '/run/weir/api.sock')}`,
      };
    case 'lost':
      return {
        weight: 'blocking',
        title: 'The API is lost',
        text: state.message,
        step: state.hint ?? 'The page continues by itself once it answers again.',
      };
    case 'no-socket':
      return {
        weight: 'note',
        title: 'No control socket',
        text: `${state.message} ${WITHOUT_SOCKET}`,
        step: state.hint ?? 'Name it with --socket if Weir does not use the default one.',
      };
    case 'no-flows':
      return {
        weight: 'note',
        title: 'No connections yet',
        text: 'Weir is serving, and no client uses it.',
        step: state.example === null ? 'Point a client to an inbound.' : 'Open one through it:',
        ...(state.example !== null && { command: state.example }),
      };
    case 'behind':
      return {
        weight: 'warning',
        title: 'Behind',
        text: `${counted(state.missed, 'flow event')} could not be read in time. Lists are complete again after the next reading; sums stay short by that much.`,
        step: 'If this stays, close other programs that follow this Weir, or give the dashboard more time on the processor.',
      };
    case 'reload-refused':
      return {
        weight: 'warning',
        title: 'The last reload was refused',
        text: state.line,
        isMessage: true,
        step:
          state.place === null
            ? 'Weir continues with the configuration before it. Correct the cause, and reload:'
            : `Weir continues with the configuration before it. Correct ${state.place}, and reload:`,
        command: state.command,
      };
    case 'versions-differ':
      return {
        weight: 'note',
        title: 'Versions differ',
        text: `Weir ${state.running} is running; this dashboard is of version ${state.own}. Some parts may be empty.`,
        step: 'Restart Weir after an upgrade, or use the dashboard of its version.',
      };
    case 'read-only':
      return {
        weight: 'note',
        title: 'Read-only',
        text: 'This dashboard was started with --read-only: it shows everything and changes nothing.',
        step: 'To change something, start it without that option.',
      };
    default:
      return state satisfies never;
  }
}

const SIGNED_OUT: Readonly<Record<SignedOutCause, string>> = {
  'no-session': 'This address was opened without a link of the dashboard.',
  'used-link': 'The link has been used before, or is too old: each is valid once.',
  ended: 'The session has ended: it expires, and ends with the process of the dashboard.',
};

const WITHOUT_SOCKET =
  'Without it the health of nodes, limits, the log and reports of reloads are missing.';

const SHAPES: Readonly<Record<Weight, string>> = { blocking: '✕', warning: '▲', note: '○' };

/** A state with its text and next step, as a box above the page. A note is one line until it is opened. */
export function StateBox({
  state,
  isExplained = false,
}: {
  readonly state: PageState;
  /** Whether the page below has the message, with more. */
  readonly isExplained?: boolean;
}) {
  const { weight, title, text, isMessage, step, command } = textOf(state);
  const head = html`<span aria-hidden="true">${SHAPES[weight]}</span> ${title}`;
  const lines = text.split('\n').map(escaped);
  const message = isMessage
    ? html`<pre class="message">${lines.join('\n')}</pre>`
    : lines.map((line) => html`<p>${line}</p>`);
  const body = html`${isExplained && isMessage === true ? null : message}
  ${step !== undefined && html`<p>${escaped(step)}</p>`}
  ${command !== undefined && html`<${CommandLine} text=${command} />`}`;
  if (weight === 'note') {
    return html`<details class="state note">
      <summary class="state-title">${head}</summary>
      ${body}
    </details>`;
  }
  return html`<section class=${`state ${weight}`} aria-label=${title} data-state=${state.kind}>
    <p class="state-title">${head}</p>
    ${body}
  </section>`;
}

/** Shown in place of an empty list: the reason, and the next step. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${children}
  </div>`;
