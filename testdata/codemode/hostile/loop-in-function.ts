// expect: timeout
const spin = () => { for (;;) { (() => 1)(); } };
spin();
