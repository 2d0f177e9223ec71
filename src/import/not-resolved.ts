/** Why flows to names may take another way than in a program that resolves them first. */
export const NOT_RESOLVED =
  'names are not resolved to match rules: `cidr` and `geoip` match addresses alone';

/** What becomes of queries that a program answers by itself. */
export const NOT_ANSWERED =
  'Weir answers queries to the addresses of a TUN device alone; others go where other flows go';
