/** Who can log in, with which password, and in which groups they are. */
export const people = [
  { id: 'ana', password: 'ana', name: 'Ana Pop', email: 'ana@example.org', groups: ['staff', 'admins'] },
  { id: 'ben', password: 'ben', name: 'Ben Lee', email: 'ben@example.org', groups: ['staff'] },
  { id: 'guest', password: 'guest', name: 'Some Guest', email: 'guest@example.org', groups: [] },
];
