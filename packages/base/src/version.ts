/** The program's version, which `--version` and the API answer; a test holds it to package.json. */
export const VERSION = '2.1.1';
