import type { NamedDeadlines } from '../../collections/named-deadlines.ts';

/** The deadlines of the connection itself; those of its parts are kept by the parts. */
export const CONNECTION_DEADLINES = ['handshake', 'idle', 'keepAlive', 'pacing', 'close'] as const;

type ConnectionDeadline = (typeof CONNECTION_DEADLINES)[number];

export type Deadlines = NamedDeadlines<ConnectionDeadline>;
