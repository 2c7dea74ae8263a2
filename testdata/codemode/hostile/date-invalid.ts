// expect: exception
return new Date(NaN).toISOString();
