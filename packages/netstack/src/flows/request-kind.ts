/** The kinds of requests, which are passed on in turn: a flood of one kind does not delay the others. */
export const RequestKind = { connection: 0, query: 1, association: 2 } as const;
export type RequestKind = (typeof RequestKind)[keyof typeof RequestKind];
