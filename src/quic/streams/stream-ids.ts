/** Which side opened a stream, and whether both sides send: the two low bits (RFC 9000 §2.1). */
const SERVER_INITIATED = 1;
const UNIDIRECTIONAL = 2;

export type Role = 'client' | 'server';

/** The kinds of streams as indices: 0 bidirectional, 1 unidirectional. */
export type Kind = 0 | 1;

export const kindOf = (id: number): Kind => ((id & UNIDIRECTIONAL) === 0 ? 0 : 1);

export const isOpenedBy = (side: Role, id: number): boolean =>
  (id & SERVER_INITIATED) === (side === 'server' ? SERVER_INITIATED : 0);

/** Which stream of its kind and side an id is, from 0. */
export const indexOf = (id: number): number => Math.floor(id / 4);

export const streamId = (side: Role, kind: Kind, index: number): number =>
  index * 4 + (kind === 1 ? UNIDIRECTIONAL : 0) + (side === 'server' ? SERVER_INITIATED : 0);
