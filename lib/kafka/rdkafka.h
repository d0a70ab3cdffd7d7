/*
 * librdkafka, loaded when a Kafka component opens (lib/late/library.h). rdkafka.conf_new is
 * rd_kafka_conf_new, and so on. Call rdkafka_ready before any other function.
 */
#ifndef LIB_KAFKA_RDKAFKA_H
#define LIB_KAFKA_RDKAFKA_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/* What producers and consumers need; the names lack their prefix rd_kafka_. */
/* clang-format off */
#define RDKAFKA_FUNCTIONS(X) \
    X(version) X(version_str) X(err2str) X(err2name) X(last_error) X(fatal_error) X(error_code) \
    X(error_name) X(error_string) X(error_is_fatal) X(error_is_retriable) \
    X(error_txn_requires_abort) X(error_destroy) X(conf_new) X(conf_dup) X(conf_destroy) \
    X(conf_set) X(conf_get) X(conf_set_opaque) X(conf_set_dr_msg_cb) X(conf_set_error_cb) \
    X(conf_set_log_cb) X(conf_set_ssl_cert_verify_cb) X(conf_set_closesocket_cb) \
    X(conf_set_stats_cb) X(conf_set_throttle_cb) X(conf_set_rebalance_cb) \
    X(conf_set_offset_commit_cb) X(conf_set_events) X(conf_set_background_event_cb) \
    X(conf_set_default_topic_conf) X(topic_conf_new) X(topic_conf_set) X(topic_conf_destroy) \
    X(topic_new) X(topic_destroy) X(topic_name) X(new) X(destroy) X(destroy_flags) X(name) \
    X(type) X(opaque) X(poll) X(poll_set_consumer) X(yield) X(set_log_queue) X(set_log_level) \
    X(outq_len) X(thread_cnt) X(brokers_add) X(clusterid) X(controllerid) X(memberid) X(producev) \
    X(produceva) X(flush) X(purge) X(header_add) X(header_cnt) X(header_get) X(header_get_all) \
    X(header_get_last) X(headers_new) X(headers_copy) X(headers_destroy) X(message_destroy) \
    X(message_errstr) X(message_headers) X(message_detach_headers) X(message_timestamp) \
    X(message_status) X(message_latency) X(message_broker_id) X(topic_partition_list_new) \
    X(topic_partition_list_add) X(topic_partition_list_add_range) X(topic_partition_list_del) \
    X(topic_partition_list_find) X(topic_partition_list_copy) X(topic_partition_list_set_offset) \
    X(topic_partition_list_sort) X(topic_partition_list_destroy) X(topic_partition_destroy) \
    X(subscribe) X(unsubscribe) X(subscription) X(assign) X(assignment) X(assignment_lost) \
    X(incremental_assign) X(incremental_unassign) X(rebalance_protocol) X(consumer_poll) \
    X(consumer_close) X(consumer_close_queue) X(consumer_closed) X(consumer_group_metadata) \
    X(consumer_group_metadata_destroy) X(consume_batch_queue) X(queue_new) X(queue_destroy) \
    X(queue_get_main) X(queue_get_consumer) X(queue_get_partition) X(queue_get_background) \
    X(queue_forward) X(queue_length) X(queue_poll) X(queue_poll_callback) X(queue_yield) \
    X(queue_io_event_enable) X(queue_cb_event_enable) X(consume_queue) X(event_type) \
    X(event_name) X(event_destroy) X(event_opaque) X(event_error) X(event_error_string) \
    X(event_error_is_fatal) X(event_log) X(event_stats) X(event_message_next) \
    X(event_message_array) X(event_message_count) X(event_topic_partition) \
    X(event_topic_partition_list) X(seek) X(seek_partitions) X(pause_partitions) \
    X(resume_partitions) X(commit) X(commit_queue) X(committed) X(position) X(offsets_store) \
    X(offsets_for_times) X(query_watermark_offsets) X(get_watermark_offsets) X(metadata) \
    X(metadata_destroy) X(topic_partition_available) X(msg_partitioner_murmur2_random) \
    X(ConfigResource_new) X(ConfigResource_destroy) \
    X(ConfigResource_error) X(ConfigResource_configs) X(ConfigEntry_name) X(ConfigEntry_value) \
    X(DescribeConfigs) X(DescribeConfigs_result_resources) X(event_DescribeConfigs_result)
/* clang-format on */

#define RDKAFKA_POINTER(name) __typeof__(rd_kafka_##name) *name;
struct rdkafka {
    RDKAFKA_FUNCTIONS(RDKAFKA_POINTER)
};
#undef RDKAFKA_POINTER

/* Set by rdkafka_ready, constant from then on. */
extern struct rdkafka rdkafka;

/* Loads the library. False: it is not installed or too old; the loader's reason is logged. Any
 * thread. */
bool rdkafka_ready(void);

/* What to tell a user if it cannot be loaded. */
#define RDKAFKA_MISSING                                                                            \
    "librdkafka.so.1 cannot be loaded; install it (Debian and Ubuntu: the package librdkafka1)"

#endif
