// expect: worker-exit exception
return new Uint8Array(4e9).length;
