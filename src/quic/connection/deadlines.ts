import type { NamedDeadlines } from '../../collections/named-deadlines.ts';

/** The deadlines of a connection itself; its parts have their own. */
export const CONNECTION_DEADLINES = ['handshake', 'idle', 'keepAlive', 'pacing', 'close'] as const;

type ConnectionDeadline = (typeof CONNECTION_DEADLINES)[number];

export type Deadlines = NamedDeadlines<ConnectionDeadline>;
