/** The destination by which a client with many connections takes the one of this number. */
export const sessionHost = (number: number): string => `127.1.${number >> 8}.${number & 0xff}`;
