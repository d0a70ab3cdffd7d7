/* Tells systemd about this process's state, as sd_notify(3) describes: a datagram to the socket
 * that NOTIFY_SOCKET names. Without that variable, or when the socket does not answer, nothing
 * happens. One thread. */
#ifndef CLI_SERVICE_MANAGER_H
#define CLI_SERVICE_MANAGER_H

/* The receivers accept, after a start or a reload. */
void service_manager_ready(void);

/* A reload starts; service_manager_ready ends it. */
void service_manager_reloading(void);

/* The process drains and ends. */
void service_manager_stopping(void);

#endif
